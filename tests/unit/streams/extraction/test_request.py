"""Asking the extractor: what its answer becomes, and how outages and poison are told apart."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
import orjson
import pytest
from support.examples import MONDAY, later, vector_of
from support.workbench import CharacterEmbedder, EchoExtractor

from projections.embedding import stored_vector
from projections.embedding.embedder import EmbedderRefused, EmbedderUnavailable
from schemas import codec
from schemas.messages.inbox import CandidatesExtracted, ExtractionRejected
from streams.extraction.protocol import Extraction, Known, Outage, Piece, Proposal, Rejected, Window
from streams.extraction.request import MAX_FAILURES, ExtractionService

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.embedding.embedder import Vectors

PIECES = (
    Piece(piece_id="t-1#0", event_id="t-1", speaker="user", text="我喜欢咖啡", occurred_at=MONDAY, recorded_at=MONDAY),
    Piece(
        piece_id="t-2#0",
        event_id="t-2",
        speaker="assistant",
        text="好的",
        occurred_at=later(seconds=9),
        recorded_at=later(seconds=3),
    ),
)
WINDOW = Window(
    tenant="default",
    user_id="xiaoming",
    agent_id="luna",
    session_id="s1",
    source_type="chat",
    source_ref="s1",
    pieces=PIECES,
)


class Saying(EchoExtractor):
    """Answers with what it was made with, after its errors."""

    def __init__(self, answer: Extraction, *errors: Exception) -> None:
        """Take the answer, and what is raised before it."""
        super().__init__()
        self.answer = answer
        self.errors = list(errors)

    async def extract(self, window: Window) -> Extraction:
        """Raise what is left to raise, else answer."""
        await super().extract(window)
        return self.answer


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let sleeping take no time; return how long was slept each time."""
    lengths: list[float] = []
    sleep = asyncio.sleep

    async def at_once(seconds: float) -> None:
        lengths.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", at_once)
    return lengths


async def test_a_proposal_becomes_a_candidate_with_all_that_it_says():
    proposal = Proposal(
        content="用户送花",
        kind="episodic",
        category="people",
        memory_type="long_term",
        importance=0.75,
        attribute="likes",
        value="花",
        event_type="gift",
        emotion="happy",
        emotion_intensity=0.8,
        key_dialogue=("给你", "谢谢"),
        occurred_on=date(2026, 1, 4),
        sources=(1, 0),
        about="my mother",
        speaker="Lena",
        replaces=("m-1",),
        ends=("m-2",),
        confirmed=False,
    )
    shown = ("m-1", "m-2")
    answer = Extraction(proposals=(proposal,), answer="raw", tokens_in=5, tokens_out=6, dropped=("bad",), shown=shown)
    extractor = Saying(answer)
    item = await ExtractionService(CharacterEmbedder()).extract(WINDOW, extractor)
    assert isinstance(item, CandidatesExtracted)
    [made] = item.candidates
    assert (made.content.text, made.kind, made.category, made.memory_type) == (
        "用户送花",
        "episodic",
        "people",
        "long_term",
    )
    assert (made.importance, made.attribute, made.value and made.value.text) == (0.75, "likes", "花")
    assert (made.event_type, made.emotion, made.emotion_intensity) == ("gift", "happy", 0.8)
    assert made.key_dialogue is not None
    assert orjson.loads(made.key_dialogue.data) == ["给你", "谢谢"]
    assert (made.occurred_on, made.pieces) == ("2026-01-04", ["t-2#0", "t-1#0"])
    assert made.vector.data == stored_vector.vector_bytes(np.frombuffer(vector_of("用户送花"), "<f4"))
    assert (made.about and made.about.text, made.speaker and made.speaker.text) == ("my mother", "Lena")
    assert (made.replaces, made.ends, made.confirmed, item.shown) == (["m-1"], ["m-2"], False, ["m-1", "m-2"])
    assert (item.model, item.prompt_hash, item.embedding_model) == ("echo", "echo-1", "test")
    assert (item.answer and item.answer.text, item.tokens_in, item.tokens_out, item.dropped) == ("raw", 5, 6, ["bad"])
    assert (item.session_id, item.source_type, item.source_ref) == ("s1", "chat", "s1")
    assert codec.decode(codec.encode(item)) == item


async def test_every_piece_of_the_window_is_covered_with_its_two_times():
    item = await ExtractionService(CharacterEmbedder()).extract(WINDOW, Saying(Extraction(proposals=())))
    assert [(c.piece_id, c.by_user, c.occurred_at, c.recorded_at) for c in item.covered] == [
        ("t-1#0", True, MONDAY, MONDAY),
        ("t-2#0", False, later(seconds=9), later(seconds=3)),
    ]
    assert item.envelope.occurred_at == later(seconds=9)
    assert (item.envelope.correlation_id, item.envelope.causation_id) == ("t-1", "t-2")


async def test_the_same_window_asked_of_the_same_model_has_the_same_id_answered_or_rejected():
    asking = ExtractionService(CharacterEmbedder())
    ids = [
        (await asking.extract(WINDOW, Saying(Extraction(proposals=())))).envelope.event_id,
        (await asking.extract(WINDOW, EchoExtractor())).envelope.event_id,
        (await asking.extract(WINDOW, Saying(Extraction(proposals=()), Rejected("no")))).envelope.event_id,
    ]
    assert len(set(ids)) == 1
    other = EchoExtractor()
    other.prompt_hash = "echo-2"
    assert (await asking.extract(WINDOW, other)).envelope.event_id not in ids
    half = replace(WINDOW, pieces=PIECES[:1])
    assert (await asking.extract(half, EchoExtractor())).envelope.event_id not in ids


@pytest.mark.parametrize(
    ("keys", "by"),
    [(("k-ann", "k-ann"), "k-ann"), (("k-ann", "k-ben"), None), ((None, "k-ann"), None), ((None, None), None)],
)
async def test_an_answer_is_by_the_key_of_all_pieces_or_by_none(keys: tuple[str | None, str | None], by: str | None):
    window = replace(WINDOW, pieces=tuple(replace(one, by=key) for one, key in zip(PIECES, keys, strict=True)))
    for extractor in (Saying(Extraction(proposals=())), Saying(Extraction(proposals=()), Rejected("no"))):
        assert (await ExtractionService(CharacterEmbedder()).extract(window, extractor)).envelope.by == by


async def test_what_a_screen_or_an_article_shows_is_not_the_users_own_words():
    seen = replace(
        WINDOW, pieces=tuple(replace(PIECES[0], speaker=s) for s in ("user", "screenshot", "article", "assistant"))
    )
    item = await ExtractionService(CharacterEmbedder()).extract(seen, Saying(Extraction(proposals=())))
    assert [c.by_user for c in item.covered] == [True, False, False, False]


async def test_an_unusable_answer_is_a_rejection_at_once():
    extractor = Saying(Extraction(proposals=()), Rejected("not JSON", "raw", 3, 4))
    item = await ExtractionService(CharacterEmbedder()).extract(WINDOW, extractor)
    assert isinstance(item, ExtractionRejected)
    assert (item.reason, item.answer and item.answer.text, item.tokens_in, item.tokens_out) == ("not JSON", "raw", 3, 4)
    assert len(extractor.windows) == 1


async def test_an_extractor_that_fails_at_a_window_ends_the_window_and_nothing_else():
    class Failing(EchoExtractor):
        async def extract(self, window: Window) -> Extraction:  # noqa: ARG002 - it does not look
            raise OverflowError("date value out of range")

    item = await ExtractionService(CharacterEmbedder()).extract(WINDOW, Failing())
    assert isinstance(item, ExtractionRejected)
    assert item.reason == "the extractor failed: OverflowError"
    assert [piece.piece_id for piece in item.covered] == ["t-1#0", "t-2#0"]


async def test_an_outage_is_waited_out_however_long_it_takes(slept: list[float]):
    extractor, waits = Saying(Extraction(proposals=()), *(Outage(f"busy {n}") for n in range(50))), list[str]()
    item = await ExtractionService(CharacterEmbedder()).extract(WINDOW, extractor, waits.append)
    assert isinstance(item, CandidatesExtracted)
    assert waits == [f"busy {n}" for n in range(50)]
    assert (slept[:4], slept[-1]) == ([0.1, 0.2, 0.4, 0.8], 30.0)


async def test_a_window_that_fails_eight_times_while_others_succeed_is_poison():
    asking = ExtractionService(CharacterEmbedder())

    class OthersSucceed(EchoExtractor):
        async def extract(self, window: Window) -> Extraction:
            asking.successes += 1
            self.errors = [Outage("poisoned")]
            return await super().extract(window)

    extractor = OthersSucceed()
    item = await asking.extract(WINDOW, extractor)
    assert isinstance(item, ExtractionRejected)
    assert (len(extractor.windows), MAX_FAILURES) == (8, 8)
    assert "poisoned" in item.reason


async def test_a_model_that_says_when_to_come_back_is_not_asked_before(slept: list[float]):
    busy = (Outage("busy", retry_after=77.0), Outage("busy", retry_after=0.001))
    await ExtractionService(CharacterEmbedder()).extract(WINDOW, Saying(Extraction(proposals=()), *busy))
    assert slept == [77.0, 0.2]


async def test_a_model_is_shown_what_is_known_once_however_often_it_is_asked():
    known, asked = Known(memory_id="m1", text="用户喜欢茶"), list[Window]()

    async def known_of(window: Window) -> list[Known]:
        asked.append(window)
        return [known] if len(asked) == 1 else []

    extractor = Saying(Extraction(proposals=()), Outage("busy"))
    await ExtractionService(CharacterEmbedder(), known_of=known_of).extract(WINDOW, extractor)
    assert [window.known for window in extractor.windows] == [(known,), (known,)]
    assert [window.known for window in asked] == [()]


async def test_who_asks_no_model_looks_for_nothing_known():
    async def known_of(_window: Window) -> list[Known]:
        raise AssertionError("nobody is shown anything")

    extractor = EchoExtractor()
    extractor.model = "rules"
    await ExtractionService(CharacterEmbedder(), known_of=known_of).extract(WINDOW, extractor)
    assert [window.known for window in extractor.windows] == [()]


async def test_a_window_is_asked_about_without_what_is_known_where_that_cannot_be_found():
    async def known_of(_window: Window) -> list[Known]:
        raise ValueError("an odd word")

    extractor = EchoExtractor()
    await ExtractionService(CharacterEmbedder(), known_of=known_of).extract(WINDOW, extractor)
    assert [window.known for window in extractor.windows] == [()]


async def test_an_embedder_that_cannot_be_reached_is_an_outage_too():
    class Away(CharacterEmbedder):
        def __init__(self) -> None:
            """Be away once."""
            self.away = True

        async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:  # noqa: ARG002
            if self.away:
                self.away = False
                raise EmbedderUnavailable("no answer")
            return await super().embed(texts)

    waits: list[str] = []
    item = await ExtractionService(Away()).extract(WINDOW, EchoExtractor(), waits.append)
    assert isinstance(item, CandidatesExtracted)
    assert (waits, len(item.candidates)) == (["no answer"], 2)
    assert stored_vector.vector_of(item.candidates[0].vector.data).shape == (64,)


async def test_what_the_model_took_is_counted_where_the_embedder_refuses_its_answer():
    class Refusing(CharacterEmbedder):
        async def embed(self, texts: Sequence[str], *, urgent: bool = False) -> Vectors:  # noqa: ARG002
            raise EmbedderRefused("too long")

    answer = Extraction(proposals=(Proposal(content="likes coffee", sources=(0,)),), tokens_in=70, tokens_out=7)
    item = await ExtractionService(Refusing()).extract(WINDOW, Saying(answer))
    assert isinstance(item, ExtractionRejected)
    assert (item.reason, item.tokens_in, item.tokens_out) == ("embedder: too long", 70, 7)


async def test_a_piece_with_a_row_of_marks_rejects_its_window_and_nobody_is_asked():
    """A producer of Kafka's may write anything: the log keeps it, and no rule or model reads it."""
    extractor = EchoExtractor()
    odd = replace(WINDOW, pieces=(PIECES[0], replace(PIECES[1], text="e" + "\u0301\u0323" * 16)))
    item = await ExtractionService(CharacterEmbedder()).extract(odd, extractor)
    assert isinstance(item, ExtractionRejected)
    assert item.reason == "text: more than 30 combining marks in a row"
    assert [piece.piece_id for piece in item.covered] == ["t-1#0", "t-2#0"]
    assert extractor.windows == []


async def test_rows_of_marks_in_an_answer_are_cut():
    marks = "e" + "\u0301" * 99
    said = Proposal(content="caf" + "e\u0301" * 99, attribute="likes", value=marks, about=marks, sources=(0,))
    item = await ExtractionService(CharacterEmbedder()).extract(WINDOW, Saying(Extraction(proposals=(said,))))
    assert isinstance(item, CandidatesExtracted)
    [candidate] = item.candidates
    assert candidate.content.text == "caf" + "e\u0301" * 99
    assert candidate.value is not None
    assert candidate.about is not None
    assert candidate.value.text == candidate.about.text == "e" + "\u0301" * 30
