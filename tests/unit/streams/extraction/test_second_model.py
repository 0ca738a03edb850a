"""A second model for what the first refuses."""

from __future__ import annotations

import pytest

from streams.extraction.protocol import Extraction, Outage, Proposal, Rejected, Window
from streams.extraction.second_model import SecondModel

WINDOW = Window(
    tenant="default", user_id="u1", agent_id=None, session_id=None, source_type="chat", source_ref="s1", pieces=()
)


class Model:
    """Answers always the same, or fails."""

    prompt_hash = "p"

    def __init__(self, model: str, answer: Extraction | Exception) -> None:
        self.model = model
        self._answer = answer
        self.asked = 0

    async def extract(self, window: Window) -> Extraction:  # noqa: ARG002 - whatever it is
        self.asked += 1
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


GOOD = Extraction(proposals=(Proposal(content="likes tea", sources=(0,)),), answer="[]", tokens_in=5, tokens_out=3)
BAD = Rejected("cut off: the answer ended", "[", 10, 4)


async def test_the_second_is_asked_only_where_the_first_gives_no_usable_answer():
    second = Model("large", GOOD)
    models = SecondModel(Model("small", GOOD), second)
    assert (await models.extract(WINDOW), second.asked) == (GOOD, 0)
    assert (models.model, models.prompt_hash) == ("small", "p")
    found = await SecondModel(Model("small", BAD), second).extract(WINDOW)
    assert (found.by, found.proposals, found.tokens_in, found.tokens_out) == ("large", GOOD.proposals, 15, 7)
    assert [(took.model, took.tokens_in, took.tokens_out) for took in found.tokens_by_model] == [
        ("small", 10, 4),
        ("large", 5, 3),
    ]


async def test_where_neither_answers_both_reasons_are_told():
    models = SecondModel(Model("small", BAD), Model("large", Rejected("refused: no", None, 1, 1)))
    with pytest.raises(Rejected) as rejected:
        await models.extract(WINDOW)
    assert rejected.value.reason == "cut off: the answer ended; large: refused: no"
    assert (rejected.value.answer, rejected.value.tokens_in, rejected.value.tokens_out) == ("[", 11, 5)


async def test_an_outage_of_the_first_is_waited_out_and_one_of_the_second_leaves_the_rejection():
    second = Model("large", Outage("down"))
    with pytest.raises(Outage):
        await SecondModel(Model("small", Outage("away")), second).extract(WINDOW)
    assert second.asked == 0
    with pytest.raises(Rejected, match="cut off"):
        await SecondModel(Model("small", BAD), second).extract(WINDOW)
