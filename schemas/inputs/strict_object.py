"""A JSON object that is read strictly: the base class of all shapes for untrusted input."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, model_validator

MARGIN: Final = 16
"""How many unknown members are reported one by one; a report costs more than reading the member."""


class StrictObject(BaseModel):
    """A model that converts no values and refuses unknown members; far too many are refused without examining any."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    _known: ClassVar[int] = 0
    """The number of known members."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:  # noqa: ANN401 - pydantic's own
        cls._known = len(cls.model_fields)

    @model_validator(mode="before")
    @classmethod
    def _has_few_members(cls, value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
        if isinstance(value, dict) and len(value) > cls._known + MARGIN:
            raise ValueError(f"has {len(value)} members, of which at most {cls._known} are known here")
        return value
