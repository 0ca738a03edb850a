"""The verdict of the fault matrix can fail: what it is to find is found where it was put."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from faults.cluster.numbered_facts import event_id, text
from faults.cluster.row_run import Result
from faults.cluster.row_verdict import Verdict, digest_of_workload, verdict
from message_examples import bare
from support.counting import counted
from support.examples import MONDAY

from projections.state.digest import digests
from projections.state.evolve import events_of, evolve, link_of
from projections.state.memory import UserState
from schemas import codec
from schemas.log import Position, Record
from schemas.messages.dead_letters import DeadLetter
from schemas.messages.decision import Decision
from schemas.messages.events import MemoryFormed
from schemas.topics import DEAD_LETTERS, LEDGER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemas.identity import Owner

USER = 7
SAID = [event_id(USER, fact) for fact in range(4)]


def formed(fact: int, memory_id: str = "") -> bytes:
    example = bare(MemoryFormed)
    content = replace(example.content, data=text(USER, fact).encode())
    named = {"memory_id": memory_id or f"m-{fact}", "source_ids": [event_id(USER, fact)]}
    return codec.encode(replace(example, content=content, **named))


def decision(version: int, *events: bytes, offset: int | None = None, user: str = f"user-{USER}") -> bytes:
    example = bare(Decision)
    envelope = replace(example.envelope, tenant="default", user_id=user)
    offset = version if offset is None else offset
    item = {"item_id": f"item-{offset}", "item_offset": offset, "part": 1, "last_part": True}
    return codec.encode(replace(example, envelope=envelope, version=version, events=list(events), **item))


def records_of(ledger: Sequence[bytes]) -> dict[tuple[str, int], list[Record]]:
    places = (Position(LEDGER.name, 0, offset) for offset in range(len(ledger)))
    kept = [
        Record(position=place, recorded_at=MONDAY, key=b"default/user", value=value)
        for place, value in zip(places, ledger, strict=True)
    ]
    return {(LEDGER.name, 0): kept}


def judged(ledger: Sequence[bytes], acknowledged: Sequence[str] = SAID) -> Verdict:
    return verdict(records_of(ledger), acknowledged)


def found(ledger: Sequence[bytes], acknowledged: Sequence[str] = SAID) -> tuple[int, int, int, int]:
    told = judged(ledger, acknowledged)
    return told.missing, told.twice, told.out_of_order, told.void


SOUND = [decision(1, formed(0), formed(1)), decision(2, formed(2), formed(3))]


def test_a_sound_ledger_has_nothing_to_tell():
    assert found(SOUND) == (0, 0, 0, 0)
    assert judged(SOUND).memories == len(SAID)


def test_what_was_acknowledged_and_not_remembered_is_missing():
    assert found(SOUND[:1]) == (2, 0, 0, 0)
    assert found(SOUND[:1], SAID[:2]) == (0, 0, 0, 0)


def test_what_was_remembered_again_is_twice_by_its_id_its_source_or_its_words():
    for again in formed(0), formed(0, "another"), formed(3, "m-0"):
        missing, twice, _, void = found([SOUND[0], decision(2, formed(2), formed(3), again)])
        assert (missing, twice, void) == (0, 1, 0)


def test_what_was_remembered_after_something_later_is_out_of_order():
    assert found([decision(1, formed(0), formed(2)), decision(2, formed(1), formed(3))]) == (0, 0, 1, 0)
    assert "[0, 2, 1]" in judged([decision(1, formed(0), formed(2)), decision(2, formed(1))]).misplaced[0]


def test_a_decision_that_another_was_before_is_void_and_what_is_no_decision_is_none():
    late = decision(2, formed(2), formed(3), offset=9)
    assert found([*SOUND, late, SOUND[0]]) == (0, 0, 0, 2)
    assert found([*SOUND, b"not a message", b"{}", formed(0)]) == (0, 0, 0, 0)


def test_a_dead_letter_counts_once_for_its_record_and_what_is_no_letter_does_not():
    letter, no_letter = bare(DeadLetter), codec.encode(bare(Decision))
    told = [letter, letter, replace(letter, offset=letter.offset + 1)]
    [kept] = records_of([*map(codec.encode, told), b"not a message", no_letter]).values()
    assert verdict({(DEAD_LETTERS.name, 0): kept}, []).dead_letters == 2


def test_dead_letters_that_are_too_few_or_too_many_make_a_row_unsound():
    told = replace(judged(SOUND), dead_letters=3)
    row = Result("poison", len(SAID), told, "d", 0, 0, 0, (), ())
    assert [replace(row, dead_letters_expected=letters).is_sound("d") for letters in (0, 2, 3, 4)] == [
        False,
        False,
        True,
        False,
    ]


def digest_of(ledger: Sequence[bytes]) -> dict[str, str]:
    """Return the digests that workers would tell of this ledger."""
    states: dict[Owner, UserState] = {}
    for owner, chain in counted(records_of(ledger)).items():
        states[owner] = UserState(owner=owner)
        for one in chain:
            states[owner] = evolve(states[owner], one, events_of(one), link_of(one, codec.encode(one)))
    return digests(states.values())


def test_what_users_of_a_row_itself_were_told_is_neither_judged_nor_in_its_digest():
    theirs = decision(1, formed(9), user="talker-1")
    assert found([*SOUND, theirs]) == (0, 0, 0, 0)
    assert judged([*SOUND, theirs]).memories == len(SAID)
    whole, records = digest_of([*SOUND, theirs]), records_of([*SOUND, theirs])
    assert digest_of_workload(whole, records) == digest_of(SOUND)["total"] != whole["total"]
    assert digest_of_workload(digest_of(SOUND), records_of(SOUND)) == digest_of(SOUND)["total"]
    assert digest_of_workload(digest_of(SOUND), records) != digest_of(SOUND)["total"]
