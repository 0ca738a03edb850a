"""Sixty texts that want to be more than text: what each must not become, through the real rules, prompts and decisions.

`tests/data/injections.jsonl` has them, thirty in Chinese, thirty in English. `over` says where the text stands: a turn
(of the user's, or of the assistant's), a screenshot, an article, a speaker's name or an app's, an import. `by` says
who reads it: the rules, a model's prompt, a model that obeys it (`answer` is what the attacker wants), or a context.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest
from support.examples import MONDAY, XIAOMING, envelope, imported, later, remember, said
from support.given import Given, given
from support.own_words import OwnWordsHere
from support.workbench import CharacterEmbedder

from projections.profile.profile import profile
from projections.queries.prompt import MemoryContext
from projections.queries.ranking import Parts
from projections.queries.search import Found, Pool
from schemas.messages.inbox import CandidatesExtracted
from schemas.messages.observations import ArticleInferred, ScreenshotAnalysed, TurnContext, TurnRecorded
from streams.extraction.model.answer import read_answer
from streams.extraction.model.prompts import messages
from streams.extraction.protocol import Extraction
from streams.extraction.request import ExtractionService
from streams.extraction.window import pieces_of, window_of

if TYPE_CHECKING:
    from projections.state.memory import Memory
    from schemas.messages.observations import Observation
    from streams.extraction.protocol import Extractor, Window

ATTACKS: Final[list[dict[str, Any]]] = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "injections.jsonl").read_text("utf-8").split("\n")
    if line
]
AT: Final = later(hours=1)
_NUMBERED: Final = re.compile(r"^\[(\d+)\] ", re.MULTILINE)


class ObedientModel:
    """A model that reads the real prompt and then returns what the attacker wants."""

    model = "obedient"
    prompt_hash = "obedient-1"

    def __init__(self, entries: list[dict[str, Any]]) -> None:
        self._entries = entries

    async def extract(self, window: Window) -> Extraction:
        assert messages(window)
        answer = read_answer(json.dumps({"memories": self._entries}), window)
        return Extraction(proposals=answer.proposals, dropped=answer.dropped)


def attacks(by: str) -> pytest.MarkDecorator:
    chosen = [attack for attack in ATTACKS if attack["by"] == by]
    return pytest.mark.parametrize("attack", chosen, ids=[attack["id"] for attack in chosen])


def observation(attack: dict[str, Any]) -> Observation:
    """Return the observation that carries the attack."""
    text, name = attack["text"], attack.get("name")
    match attack["over"]:
        case "screenshot":
            return ScreenshotAnalysed(
                envelope=envelope("p-1", AT), screenshot_id="IMG_1", text=text, app=name, relevance="high"
            )
        case "article":
            return ArticleInferred(envelope=envelope("a-1", AT), article_id="A1", title=name or "", content=text)
        case _:
            context = TurnContext(gift=attack["gift"]) if "gift" in attack else None
            return TurnRecorded(
                envelope=envelope("t-1", AT),
                session_id="s1",
                role=attack.get("role", "user"),
                name=name,
                content=text,
                infer=True,
                context=context,
            )


def window(attack: dict[str, Any]) -> Window:
    message = observation(attack)
    return window_of(message, tuple(pieces_of(message, AT)))


async def decided(attack: dict[str, Any], extractor: Extractor, before: Given) -> Given:
    """Return the state after the attack was extracted and decided on."""
    item = await ExtractionService(CharacterEmbedder()).extract(window(attack), extractor)
    assert isinstance(item, CandidatesExtracted)
    return before.when(item)


def test_there_are_thirty_in_each_language_over_every_way_in():
    assert len(ATTACKS) == len({json.dumps(attack["text"]) + str(attack.get("name")) for attack in ATTACKS}) == 60
    assert [sum(attack["language"] == language for attack in ATTACKS) for language in ("zh", "en")] == [30, 30]
    assert {attack["over"] for attack in ATTACKS} == {"turn", "screenshot", "article", "name", "import"}


@attacks("rules")
async def test_what_the_rules_read_off_a_screen_is_no_order(attack: dict[str, Any]):
    after = await decided(attack, OwnWordsHere(), Given())
    assert not [m.content for m in after.memories if attack["must_not"]["memory"] in m.content]
    assert {(m.attribute, m.source_type) for m in after.memories} <= {(None, "photo"), (None, "inferred")}


@attacks("model")
async def test_a_model_that_obeys_cannot_do_what_the_attacker_wants(attack: dict[str, Any]):
    must_not, before = attack["must_not"], _said(attack.get("before", []))
    after = await decided(attack, ObedientModel(attack["answer"]), before)
    own = before.only if before.memories else None
    for attribute, value in must_not.get("slot", {}).items():
        assert [m for m in after.memories if (m.slot, m.value) == (attribute, value)] == []
        assert profile(after.memories, AT)[attribute] == (profile(before.memories, AT)[attribute])
    if own is not None:
        assert after.state.memories[own.memory_id].status == "active"
    if "importance" in must_not:
        assert max(m.importance for m in after.memories) < must_not["importance"]
    if "reinforced" in must_not:
        assert own is not None
        assert after.of(must_not["reinforced"]).access_count == own.access_count == 0
        assert after.events == []
    if "quote" in must_not:
        assert not [m for m in after.memories if must_not["quote"] in m.key_dialogue]


def _said(known: list[dict[str, Any]]) -> Given:
    """Return the state after the user said these things, in turns of their own."""
    return given(*(said(f["content"], f"u-{n}", MONDAY, **_rest(f)) for n, f in enumerate(known)))


def _rest(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name != "content"}


@attacks("prompt")
def test_a_text_in_the_prompt_is_one_line_and_cannot_look_like_another(attack: dict[str, Any]):
    asked = window(attack)
    lines = str(messages(asked)[-1]["content"])
    assert attack["must_not"]["line"] not in lines
    assert _NUMBERED.findall(lines) == [str(number) for number in range(1, len(asked.pieces) + 1)]
    assert len(lines.splitlines()) == len(asked.pieces)


@attacks("context")
def test_a_memory_in_a_context_is_one_line_of_what_is_seen(attack: dict[str, Any]):
    must_not = attack["must_not"]
    is_import = attack["over"] == "import"
    item = imported(attack["text"], "m-1") if is_import else remember(attack["text"], "c-1")
    memory = given(item).only
    for text, harmless in zip(spelt(memory), spelt(given(remember("tea", "c-1")).only), strict=True):
        assert "line" not in must_not or must_not["line"] not in text
        assert "begins" not in must_not or _beginning(text, must_not["begins"]) == _beginning(
            harmless, must_not["begins"]
        )
        assert len(text.splitlines()) == len(harmless.splitlines())


def _beginning(text: str, words: str) -> int:
    return sum(line.startswith(words) for line in text.splitlines())


def spelt(memory: Memory) -> tuple[str, str, str]:
    """Return the three spellings of a context that has the memory alone: Evatar's, Luna's and PowerMem's."""
    parts = Parts(cosines=np.array([0.9]), words=np.array([np.nan]), importance=np.array([memory.importance]))
    found: list[Found] = Pool([XIAOMING], [memory], parts, AT, -1.0).best(1)
    context = MemoryContext(
        query="",
        tier="paid",
        user_profile=None,
        relevant_episodes=found,
        recent_episodes=(),
        memories=found,
        total_memories=1,
        most_important=(memory,),
    )
    return context.block, context.prompt, context.message
