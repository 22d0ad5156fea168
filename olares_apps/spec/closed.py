"""The base of every part of a spec."""

from pydantic import BaseModel, ConfigDict

__all__ = ["Closed"]


class Closed(BaseModel):
    """Base of every part of a spec: unknown keys and silent conversions are errors."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )
