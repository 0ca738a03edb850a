"""A model's proposals with the slots that the rules read."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from support.own_words import OwnWordsHere
from support.windows import piece, talk, window

from streams.extraction.assisted import AssistedModel
from streams.extraction.protocol import Extraction, Outage, Proposal, Rejected, Window

TUESDAY = datetime(2026, 3, 10, 9, tzinfo=UTC)
WHO = "I'm Ingrid. I live in Bergen and work as a nurse at Haukeland Hospital."


class Answers:
    """A model that answers always the same, or fails."""

    model = "small"
    prompt_hash = "p"

    def __init__(self, *found: Proposal | Exception) -> None:
        self._found = found

    async def extract(self, window: Window) -> Extraction:  # noqa: ARG002 - asked whatever it is
        if isinstance(self._found[0], Exception):
            raise self._found[0]
        return Extraction(proposals=tuple(p for p in self._found if isinstance(p, Proposal)), answer="[]", tokens_in=7)


async def slots(model: Answers, asked: Window) -> list[tuple[str, str | None, str | None]]:
    extraction = await AssistedModel(model, OwnWordsHere()).extract(asked)
    return [(p.content, p.attribute, p.value) for p in extraction.proposals]


async def test_a_slot_that_the_model_left_empty_goes_to_the_memory_that_says_its_value():
    model = Answers(Proposal(content="The user lives in Bergen.", sources=(0,)))
    assert await slots(model, talk(WHO)) == [("The user lives in Bergen.", "city", "Bergen")]


async def test_a_memory_of_two_slots_gives_a_second_memory():
    job = "The user works as a nurse at Haukeland Hospital."
    model = Answers(Proposal(content=job, attribute="employer", value="Haukeland Hospital", sources=(0,)))
    [first, second] = await slots(model, talk(WHO))
    assert first == (job, "employer", "Haukeland Hospital")
    assert second[1:] == ("occupation", "nurse")


async def test_what_the_model_filled_stays_and_what_it_did_not_find_is_not_added():
    model = Answers(Proposal(content="The user is in Bergen now.", attribute="city", value="Oslo", sources=(0,)))
    assert await slots(model, talk(WHO)) == [("The user is in Bergen now.", "city", "Oslo")]


async def test_a_value_is_said_by_whole_words():
    model = Answers(Proposal(content="The user also walked for 30 minutes.", sources=(0,)))
    assert await slots(model, talk("My name is Al. I am 3 years old. I also walked for 30 minutes.")) == [
        ("The user also walked for 30 minutes.", None, None)
    ]


async def test_the_memory_comes_from_both_lines():
    model = Answers(Proposal(content="The user lives in Bergen.", sources=(1,)))
    asked = talk("I live in Bergen.", "It rains a lot there.")
    [proposal] = (await AssistedModel(model, OwnWordsHere()).extract(asked)).proposals
    assert (proposal.attribute, proposal.sources) == ("city", (1, 0))


async def test_the_rest_of_the_answer_is_the_models():
    model = Answers(Proposal(content="The user lives in Bergen.", sources=(0,)))
    assisted = AssistedModel(model, OwnWordsHere())
    extraction = await assisted.extract(talk(WHO))
    assert (extraction.answer, extraction.tokens_in, assisted.model) == ("[]", 7, "small")
    assert assisted.prompt_hash not in ("p", OwnWordsHere().prompt_hash)
    assert assisted.prompt_hash == AssistedModel(model, OwnWordsHere()).prompt_hash


@pytest.mark.parametrize("failure", [Rejected("not JSON"), Outage("down")])
async def test_what_the_model_cannot_answer_stays_unanswered(failure: Exception):
    with pytest.raises(type(failure)):
        await slots(Answers(failure), talk(WHO))


@pytest.mark.parametrize("failure", [Rejected("too long"), Outage("closed")])
async def test_rules_that_fail_cost_only_their_slots(failure: Exception):
    model = Answers(Proposal(content="The user lives in Bergen.", sources=(0,)))
    extraction = await AssistedModel(model, Answers(failure)).extract(talk(WHO))
    assert [p.attribute for p in extraction.proposals] == [None]


async def test_a_screenshot_fills_no_slot():
    model = Answers(Proposal(content="I live in Bergen.", sources=(0,)))
    screenshot = window(piece(0, "I live in Bergen.", speaker="screenshot"), source_type="photo")
    assert await slots(model, screenshot) == [("I live in Bergen.", None, None)]


async def test_the_rules_read_while_the_model_thinks():
    read = asyncio.Event()

    class Rules(OwnWordsHere):
        async def extract(self, window: Window) -> Extraction:
            read.set()
            return await super().extract(window)

    class Thinking(Answers):
        async def extract(self, window: Window) -> Extraction:
            await read.wait()
            return await super().extract(window)

    model = Thinking(Proposal(content="The user lives in Bergen.", sources=(0,)))
    async with asyncio.timeout(120):
        [proposal] = (await AssistedModel(model, Rules()).extract(talk(WHO))).proposals
    assert proposal.attribute == "city"
