"""How people write contexts, ports, speeds and drafts in Chinese."""

import re
from typing import Final

from olares_apps.checks.wording_fields import FLAGS, Wording

__all__ = ["ASKING", "CHINESE"]

_PIECE: Final = r"(?:个\s?)?(?:tokens?|词元|令牌)"
_NUMBER: Final = r"(\d{1,3}|[一二两三四五六七八九十])"
ASKING: Final = r"(?:请求|用户|会话|对话|连接|客户端|人|槽位?|任务)"
_TAKES: Final = (
    r"(?:本身|单独|文件|大小|占用|占据|占|需要|需|要|为|是|约|大约|共|仅|只|达|有|：|:|=|（|\(|\s)*"
)

CHINESE: Final = Wording(
    exempt=re.compile(
        r"上一版|上一个版本|未使用|未采用|之前|以前|此前|先前|原来|原先|原为|旧版|旧的|曾|相比|对比|比起|而不是|而非|不再|放不下"
        r"|装不下|无法容纳|不足以|回退|回滚|基线|如果|若(?!干)|假如|例如|比如|譬如|其他|另一|另外"
        r"|降低|减小|减少|降到|降至|缩小|调低|大于|小于|超过|高于|低于|桌面"
        r"|[从由]\s*[^，。；]{1,24}?(?:提升|增加|提高|扩大|升级|改|降|变|更新)?[到至为成]\s*"
    ),
    context_before=re.compile(
        r"(?:上下文(?:长度|窗口|大小|容量|上限)?|窗口(?:大小|长度)?)[\s:：=（(*_`]*"
        r"(?:(?:最大|最长|最多|默认|能够?|可以?|均|都)*(?:为|是|达到|达|支持|约|高达|有|共|设为|配置为"
        r"|容纳|装下|提供|保留|覆盖|放下|记住)?)?"
        r"[\s:：*_`约达]*$"
    ),
    context_after=re.compile(
        rf"[\s*_`）)\"”]*(?:{_PIECE})?\s*的?\s*(?:完整|全|满|超长|最大|长|配置的?)?\s*上下文"
    ),
    request_before=re.compile(
        rf"每(?:一)?(?:个|路|条|次|位|名)?\s?{ASKING}(?:可以?|能够?|都|均|各|独享|独占|分到|获得|得到"
        r"|拥有|享有|使用|有|最多|支持|为|是|用|：|:|的|上下文|\s)*$"
    ),
    request_after=re.compile(
        rf"\s*(?:{_PIECE})?\s*(?:/|每|给每|用于每|供每)(?:一)?(?:个|路|条|次|位)?\s?{ASKING}"
    ),
    output=re.compile(r"输出|回答|回复|生成|思考"),
    native=re.compile(r"原生|训练|模型支持|模型本身|扩展到|扩展至"),
    shared=re.compile(r"共享|总计|合计|总共|一共|平分|均分|分给|平均分"),
    at_before=re.compile(r"在\s*$"),
    at_after=re.compile(r"\s?(?:个?词元)?下(?!载)"),
    at_other=re.compile(r"音频|采样|分辨率|视频|像素|图像|图片|词表|批|提示词|预填充|预算|训练|步"),
    served=re.compile(r"运行|配置|设为|启动"),
    effect=re.compile(r"减半|变慢|下降|加倍|翻倍|上升|增长|衰减|变差|仍|保持"),
    port=re.compile(
        r"端口(?:号)?(?:为|是)?[\s:：=*_`]{0,4}(?:为|是)?\s?(\d{2,5})(?![\d.])"
        r"|(?<![\d.:])(\d{2,5})\s?(?:号\s?)?端口",
        re.ASCII,
    ),
    speed=re.compile(
        r"每秒(?:钟)?(?:约|大约|可达|可|达|生成|输出|高达|平均|能|\s|\*)*"
        rf"(\d{{1,4}}(?:\.\d{{1,2}})?)[\s*]*{_PIECE}"
        rf"|(?<![\w.,-])(\d{{1,4}}(?:\.\d{{1,2}})?)[\s*]*(?:{_PIECE}|t)\s*(?:/\s*秒|每秒)"
        r"|(?<![\w.,-])(\d{1,4}(?:\.\d{1,2})?)[\s*]*词元/s\b",
        FLAGS,
    ),
    draft=re.compile(
        r"(?:每步|每次|一次|起草|草拟|预测|推测|提出|猜测)(?:最多|至多|可|能|会|起草|草拟|预测|推测|提出"
        rf"|猜测|生成|约|\s)*{_NUMBER}\s*(?:个\s?)?(?:草稿\s?)?{_PIECE}"
        r"|(?:草稿|起草|草拟|推测)(?:长度|深度|数量|步数|步长)?(?:设为|设置为|为|是|最多|：|:|=|\s)*"
        rf"{_NUMBER}(?![\d.%])(?:\s*{_PIECE}|(?=\s*(?:[，。；、）)]|$)))"
        rf"|{_NUMBER}\s*个草稿词元"
        r"|n[-_ ]?max\s*(?:设|设置)?(?:为|是|：|等于|=)\s*(\d{1,2})(?![\d.])",
        re.ASCII,
    ),
    average=re.compile(r"平均|通常|接受"),
    parallel=re.compile(
        r"(?:同时|并行|并发)(?:请求)?(?:数量?|度|路数)?(?:地|最多|最高|可以?|能够?|支持|处理|服务|响应"
        r"|接受|运行|执行|回答|应答|约|至多|仅|只|为|是|：|:|=|\s)*"
        rf"{_NUMBER}(?:\s*(?:个|路|条|位|名)?\s*(?:并发|并行)?的?\s?{ASKING}"
        r"|(?=\s*(?:[，。；、）)]|$)))"
        rf"|{_NUMBER}\s*(?:个|路|条|位|名)?\s*(?:(?:并发|并行|同时)(?:的|处理|进行)?\s?{ASKING}"
        rf"|{ASKING}(?:可以?|能够?|会)?(?:同时|并行|并发)|(?:并行|并发)?槽位?|(?<=路)(?:并发|并行))"
        rf"|一次(?:只|仅|最多|能|可以?)*(?:处理|服务)\s*{_NUMBER}\s*个?\s?{ASKING}",
        re.ASCII,
    ),
    queue=re.compile(
        r"(?<!无需)(?<!不用)(?<!不必)(?<!其余)(?<!其余请求)(?<!更多请求)(?<!后续请求)(?:排队|等待|依次|逐个)"
    ),
    percent=re.compile(r"百分之\s*(\d{1,3}(?:\.\d{1,2})?)"),
    acceptance=re.compile(r"接受|采纳|采用率|命中率"),
    speculation=re.compile(r"草稿|起草|草拟|推测|投机|多词元预测|每步|提出|猜测"),
    cache=re.compile(r"缓存"),
    cache_before=re.compile(
        r"缓存(?:(?!\b(?:weights?|model|files?|GGUF)\b|权重|模型|文件)[^;；])*$"
    ),
    cache_after=re.compile(r"[\s*_`）)]*(?:量化|格式|类型)?\s*的?\s*(?:KV|[KV]\b)?\s*缓存"),
    build=re.compile(r"构建(?:号|版本)?(?:为|是|：|:|\s)*(\d{4,5})(?![\d.])"),
    tag=re.compile(r"镜像(?:的)?标签(?:为|是|：|:|=|\s|`)*([A-Za-z0-9][\w.-]*\d[\w-]*)", re.ASCII),
    size=re.compile(
        r"(?<![\w.,-])(\d{1,4}(?:\.\d{1,2})?)\s?(G)(?=\s?的?(?:显存|内存|GPU))"
        r"|(?:显存|内存)(?:占用|需求|需要|约|为|共|：|:|\s)*(\d{1,4}(?:\.\d{1,2})?)\s?(G)(?!\w)",
        re.ASCII,
    ),
    gpu=re.compile(r"显存"),
    host=re.compile(r"内存|硬盘|磁盘|存储"),
    demand=re.compile(r"需要|至少|最低|要求|推荐|建议|足够|够用|即可"),
    card_before=re.compile(
        r"(?:显卡|卡|GPU|RTX\s?\d{4}\w*(?:\s(?:Ti|Super))?)(?:的)?(?:显存)?"
        r"(?:只有|仅有|有|为|是|（|\(|\s)*$",
        re.ASCII,
    ),
    card_after=re.compile(
        r"\s?(?:的)?(?:显存)?(?:的)?\s?(?:NVIDIA\s?|笔记本\s?)?(?:显卡|卡|GPU|笔记本)"
    ),
    suits=re.compile(
        r"运行|可用|足够|够用|装得下|放得下|需要|至少|最低|启动|跑|适合|适用|支持|推荐|建议|即可|就够"
    ),
    weights_before=re.compile(rf"(?:权重|模型文件|GGUF)的?{_TAKES}$"),
    weights_after=re.compile(r"\s?(?:大小)?(?:用于|是)?的?\s?(?:模型)?(?:权重|模型文件|GGUF)"),
    kv_before=re.compile(rf"(?:KV\s?缓存|键值缓存)的?{_TAKES}$"),
    kv_after=re.compile(r"\s?(?:用于|是)?的?\s?(?:KV\s?缓存|键值缓存)"),
    thing_before=re.compile(
        r"(?:页面文件|分页文件|交换(?:文件|分区|空间)|固态硬盘)(?:为|有|约|\s)*$"
    ),
    thing_after=re.compile(
        r"\s?的?(?:页面文件|分页文件|交换(?:文件|分区|空间)|固态硬盘|U盘|容器镜像)"
    ),
    measured=re.compile(r"每秒|首行|实测|测得|测试|速度|基准|跑分|词元/s"),
    api=re.compile(r"接口|服务|端点|监听|客户端"),
    relay=re.compile(r"重定向|转发|跳转|映射|代理|防火墙"),
    part_before=re.compile(
        r"^[\W_]*(?:草稿模型|起草模型|多模态投影|投影)\s*[：:]"
        r"|(?:草稿(?:模型|头)?|起草(?:模型|头)|MTP\s?头|投影|嵌入)\s*"
        r"(?:的)?(?:量化)?(?:为|是|采用|使用|：|:)?\s*$"
    ),
    part_after=re.compile(r"\s*(?:量化)?\s*(?:的)?\s*(?:草稿|起草|MTP\s?头|投影|嵌入)"),
)
