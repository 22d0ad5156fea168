"""What has no chart to look at: specs that something refused before rules could be asked."""

from dataclasses import dataclass

from olares_apps.errors import OlappsError

__all__ = ["Refused"]


@dataclass(frozen=True, slots=True)
class Refused:
    """One spec and the error that it ends in: of its file, its lock, its recipe or its chart.

    ``app`` is the app's name, or the spec's when the file does not say; ``file`` is the path of
    the spec, for errors that name none.
    """

    app: str
    file: str
    error: OlappsError
