"""A scripted model that also says what the pictures of users with canary words show."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from contract.scripted_model import ScriptedModel
from support.canaries import answers, caption

if TYPE_CHECKING:
    from contract.scripted_model import Mode


class SeeingModel(ScriptedModel):
    """Answers with the users' own words and more."""

    def __init__(self) -> None:
        super().__init__(answers)

    def _spell(self, mode: Mode, messages: list[dict[str, Any]]) -> str:
        shown = messages[-1]["content"]
        if isinstance(shown, str):
            return super()._spell(mode, messages)
        return json.dumps({"memories": caption(shown[1]["image_url"]["url"])})
