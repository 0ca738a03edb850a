"""What an extractor reads of windows, alone or together, holds nothing that must not be kept; nor does its answer."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from support.workbench import CharacterEmbedder

from schemas.messages.inbox import CandidatesExtracted, ExtractionRejected
from schemas.messages.observations import TurnContext
from schemas.redaction import Redaction, actions_of
from streams.extraction.protocol import Extraction, Known, Outage, Piece, Proposal, Rejected, Window
from streams.extraction.redacted_window import redacted_window
from streams.extraction.request import ExtractionService

if TYPE_CHECKING:
    from collections.abc import Callable

AT = datetime(2026, 1, 5, tzinfo=UTC)
CARD = "4111 1111 1111 1111"


class Reading:
    """An extractor that keeps what it reads, and answers as it is told."""

    model = "rules"
    prompt_hash = "p"

    def __init__(self, answer: Callable[[Window], Extraction]) -> None:
        self.read: list[Window] = []
        self._answer = answer

    async def extract(self, window: Window) -> Extraction:
        self.read.append(window)
        return self._answer(window)


def each_piece(window: Window) -> Extraction:
    return Extraction(
        proposals=tuple(
            Proposal(content=piece.text, value=CARD, key_dialogue=(CARD,), sources=(place,))
            for place, piece in enumerate(window.pieces)
        ),
        answer=f"raw {CARD}",
    )


def window(name: str, *texts: str) -> Window:
    pieces = tuple(
        Piece(
            piece_id=f"{name}-{number}#0",
            event_id=f"{name}-{number}",
            speaker="user",
            text=text,
            occurred_at=AT,
            recorded_at=AT,
            name=f"holder of {CARD}",
            context=TurnContext(mood="calm", scene=f"pays with {CARD}"),
        )
        for number, text in enumerate(texts)
    )
    return Window(
        tenant="t", user_id="u", agent_id="luna", session_id=name, source_type="chat", source_ref=name, pieces=pieces
    )


def service(setting: str, counted: list[tuple[str, str, int]] | None = None) -> ExtractionService:
    told = counted if counted is not None else []
    redaction = Redaction(actions_of(setting), lambda *what: told.append(what))
    return ExtractionService(CharacterEmbedder(), redaction_of=lambda _tenant, _agent: redaction)


async def test_a_refused_piece_is_covered_and_not_read_and_the_others_keep_their_places():
    extractor = Reading(each_piece)
    given = window("a", "mail ann@mail.example", f"card {CARD}", "tea")
    item = await service("card=redact,email=refuse").extract(given, extractor)
    assert isinstance(item, CandidatesExtracted)
    assert [piece.text for piece in extractor.read[0].pieces] == ["card [card]", "tea"]
    assert CARD not in str(extractor.read)
    assert [covered.piece_id for covered in item.covered] == ["a-0#0", "a-1#0", "a-2#0"]
    assert [candidate.pieces for candidate in item.candidates] == [["a-1#0"], ["a-2#0"]]
    assert item.dropped == ["piece 1: refused (email)"]
    assert b"4111" not in repr(item).encode()


async def test_windows_that_are_extracted_together_are_redacted_each():
    extractor = Reading(each_piece)
    items = await service("card=redact").extract_together([window("a", CARD), window("b", f"b {CARD}")], extractor)
    assert items is not None
    assert len(items) == len(extractor.read)
    assert CARD not in str(items) + str(extractor.read)


async def test_a_window_of_which_nothing_may_be_read_asks_no_extractor():
    extractor = Reading(each_piece)
    item = await service("email=refuse").extract(window("a", "ann@mail.example"), extractor)
    assert isinstance(item, CandidatesExtracted)
    assert (extractor.read, item.candidates, len(item.covered)) == ([], [], 1)


async def test_a_proposal_that_holds_what_is_refused_is_dropped():
    def said(window: Window) -> Extraction:
        return replace(each_piece(window), proposals=(Proposal(content=f"pays {CARD}", sources=(0,)),))

    given = window("a", "tea")
    plain = replace(given, pieces=tuple(replace(piece, name=None, context=None) for piece in given.pieces))
    item = await service("card=refuse").extract(plain, Reading(said))
    assert isinstance(item, CandidatesExtracted)
    assert (item.candidates, item.dropped) == ([], ["memory 1: refused (card)"])


async def test_a_rejected_answer_is_recorded_without_it():
    def refused(_: Window) -> Extraction:
        raise Rejected(f"no JSON: {CARD}", f"raw {CARD}")

    item = await service("card=redact").extract(window("a", "tea"), Reading(refused))
    assert isinstance(item, ExtractionRejected)
    assert item.reason == "no JSON: [card]"
    assert CARD not in str(item)


async def test_what_is_found_is_counted_once_however_often_the_model_is_asked():
    failures = [Outage("busy"), Outage("busy")]

    def at_last(_: Window) -> Extraction:
        if failures:
            raise failures.pop()
        return Extraction(proposals=())

    counted: list[tuple[str, str, int]] = []
    asked = service("card=redact", counted)
    asked.make_pauses = lambda: lambda: 0.0
    await asked.extract(window("a", CARD), Reading(at_last))
    assert counted == [("card", "redact", 3)]


def test_what_is_known_is_read_without_what_must_not_be_kept_also_where_it_would_be_refused():
    """It may be older than the redaction. It is no word of the window: nothing of it is counted or left out."""
    counted: list[tuple[str, str, int]] = []
    known = Known(memory_id="m1", text=f"pays with {CARD}", attribute="card", value=CARD, about=f"holder of {CARD}")
    refusing = Redaction(actions_of("card=refuse"), lambda *found: counted.append(found))
    read, _, left_out = redacted_window(replace(window("t"), known=(known,)), refusing)
    hidden = replace(known, text="pays with [card]", value="[card]", about="holder of [card]")
    assert (read.known, left_out, counted) == ((hidden,), (), [])
