"""A JSON object that is read strictly: what every shape that a stranger fills in begins with."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict, model_validator

MARGIN: Final = 16
"""Unknown members that are reported one by one; reporting one costs more than reading it."""


class StrictObject(BaseModel):
    """No value is converted, an unknown member is refused, and far too many are before any is looked at."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _has_few_members(cls, value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
        if isinstance(value, dict) and len(value) > len(cls.model_fields) + MARGIN:
            raise ValueError(f"has {len(value)} members, of which at most {len(cls.model_fields)} are known here")
        return value
