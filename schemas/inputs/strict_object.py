"""A JSON object that is read strictly: what every shape that a stranger fills in begins with."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, model_validator

MARGIN: Final = 16
"""Unknown members that are reported one by one; reporting one costs more than reading it."""


class StrictObject(BaseModel):
    """No value is converted, an unknown member is refused, and far too many are before any is looked at."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    _known: ClassVar[int] = 0
    """The members that are known, counted once."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:  # noqa: ANN401 - pydantic's own
        """Count the members of a shape."""
        cls._known = len(cls.model_fields)

    @model_validator(mode="before")
    @classmethod
    def _has_few_members(cls, value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
        if isinstance(value, dict) and len(value) > cls._known + MARGIN:
            raise ValueError(f"has {len(value)} members, of which at most {cls._known} are known here")
        return value
