"""A device that reads the stored answers directly: the simulator without a server."""

import json
from collections.abc import Mapping
from typing import Any

from olares_apps.market.answers import Answers
from olares_apps.market.device.transport import Reply
from olares_apps.market.store import Store

__all__ = ["StoreTransport"]


class StoreTransport:
    """Answers requests as a server over this store would."""

    def __init__(self, store: Store) -> None:
        self.answers = Answers(store)

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: Any | None = None
    ) -> Reply:
        """Look the answer up."""
        data = b"" if body is None else json.dumps(body).encode()
        answer = self.answers.respond(method, path, query, data)
        return Reply(answer.status, answer.headers, answer.body)
