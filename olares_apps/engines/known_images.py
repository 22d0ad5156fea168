"""Public images whose server lies at a known place.

Source: the Dockerfiles of the images, ``.devops/*.Dockerfile`` of llama.cpp.
"""

import re
from typing import Final

__all__ = ["known_server"]

_LLAMA_CPP: Final = re.compile(
    r"ghcr\.io/ggml-org/llama\.cpp:(?:server|full)(?:-[a-z]+\d*)*-b(?P<build>\d{4,6})(?:@\S+)?"
)
# The images moved from the root folder to /app at the end of 2024; this build is after it.
_IN_APP_SINCE: Final = 4500


def known_server(image: str) -> str | None:
    """Return the path of the server inside an image, None when that is not known."""
    found = _LLAMA_CPP.fullmatch(image)
    if found and int(found["build"]) >= _IN_APP_SINCE:
        return "/app/llama-server"
    return None
