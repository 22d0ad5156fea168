"""Custom images: that spec and recipe describe one image, and that its CUDA version is known."""

from collections.abc import Iterator
from typing import Final

from olares_apps.checks.context import ChartContext
from olares_apps.checks.images import cuda_of
from olares_apps.checks.rule import Found, Group, RuleBook
from olares_apps.checks.workloads import Container
from olares_apps.engines.flags.tables import build_of_image
from olares_apps.images.judge import judge

__all__ = ["rules"]

rules = RuleBook(Group.RUNTIME)

# What these publish is built for drivers of its time, and their tags name what is newer.
_UPSTREAM: Final = ("ggml-org/llama.cpp", "vllm/vllm-openai", "lmsysorg/sglang")


@rules.error(
    "image-recipe",
    "An image that is not the one of its recipe has other flags, kernels and drivers than stated.",
    "public charts: image and build instructions of different commits",
)
def _recipe(context: ChartContext) -> Iterator[Found]:
    loaded, recipe = context.spec, context.recipe
    if loaded is None or recipe is None:
        return
    engine, made = loaded.spec.engine, recipe.recipe
    stated = {"image": engine.image, "type": engine.type, "build": engine.build}
    wanted = {"image": made.image, "type": made.engine, "build": made.build}
    for field, value in stated.items():
        if value is not None and _plain(made.engine, value) != _plain(made.engine, wanted[field]):
            yield context.in_spec(
                f"engine.{field} is {value}, the recipe {recipe.path} makes {wanted[field]}",
                ("engine", field),
                hint=f"write {wanted[field]}, or name the recipe of this image",
            )
    for problem in judge(recipe).errors:
        file = str(problem.file) if problem.file else ""
        about = f"{problem.field}: " if problem.field else ""
        yield Found(about + problem.message, file, problem.line, problem.hint or "")


def _plain(engine: str, name: str) -> str:
    """Return a build's number for its commit; any other text as it is."""
    known = None if "/" in name else build_of_image(engine, name)
    return known.name if known and known.exact else name


@rules.warning(
    "image-cuda-unknown",
    "Nobody knows whether the driver of the device can run an image of unknown CUDA version.",
    "public charts: images for CUDA 13.3 on a driver for 13.1",
)
def _unknown_cuda(context: ChartContext) -> Iterator[Found]:
    profile = context.profile
    if context.spec is None or profile is None or profile.cuda_ceiling is None:
        return
    for server in context.servers:
        name = server.image
        if name is None or name.repository in _UPSTREAM or name.is_trusted:
            continue
        if cuda_of(name, context.images.get(server.container.image)):
            continue
        if "NVIDIA_REQUIRE_CUDA" in server.variables or _was_seen(context, server.container):
            continue
        yield context.in_object(
            server.workload.item,
            f"nothing states the CUDA version of {server.container.image}; the driver of "
            f"{profile.name} runs images up to {profile.cuda_ceiling}",
            server.container.image,
            hint="name its recipe in engine.recipe, run olapps lock, or put the version into the "
            "tag, such as -cuda13.1",
            field=context.field_of_image(server.container),
        )


def _was_seen(context: ChartContext, container: Container) -> bool:
    """Say whether the lock knows the image's CUDA version, or a record shows that it ran here."""
    if context.spec is None or context.profile is None:
        return False
    locked = context.lock.image(container.image) if context.lock else None
    if locked and any(platform.cuda for platform in locked.platforms):
        return True
    return any(
        (record.image, record.hardware) == (container.image, context.profile.name)
        for record in context.spec.spec.bench
    )
