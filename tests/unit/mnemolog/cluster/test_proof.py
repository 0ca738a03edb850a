"""The proof of a request between workers: nothing of it can be changed, said to another worker, or said twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

import pytest

from mnemolog.cluster import proof as proofs
from mnemolog.cluster.proof import SKEW_SECONDS, Covered, NotProven, Proof, normalised

SECRET, OLDER, OTHER = (name.encode() * 8 for name in ("here", "older", "other"))
ASKED = Covered("POST", "/v1/search?a=1", "https://worker-1:8421", "https://worker-0:8421", "a principal", "{}")
BODY = b'{"query":"tea"}'
NOON = 1_700_000_000.0


@dataclass
class Clock:
    """A time of day that a test moves."""

    now: float = NOON
    started: float = field(default=NOON)

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def receiver(clock: Clock) -> Proof:
    return Proof([SECRET], clock)


def signed(clock: Clock, *secrets: bytes, covered: Covered = ASKED) -> str:
    """Return the header that another worker sends a second after the receiver has started."""
    clock.now = clock.started + 1
    return Proof(secrets or [SECRET], clock).sign(covered, BODY)


def test_a_request_of_another_worker_is_known_and_its_body_by_its_digest(clock: Clock, receiver: Proof):
    assert receiver.verify(ASKED, signed(clock)) == sha256(BODY).hexdigest()


@pytest.mark.parametrize("part", Covered._fields)
def test_no_part_of_a_request_can_be_changed(clock: Clock, receiver: Proof, part: str):
    header = signed(clock)
    with pytest.raises(NotProven, match="was changed on its way"):
        receiver.verify(ASKED._replace(**{part: getattr(ASKED, part) + "x"}), header)
    assert receiver.verify(ASKED, header)


@pytest.mark.parametrize("place", [1, 2, 3, 4])
def test_neither_time_nor_number_nor_body_nor_signature_can_be_changed(clock: Clock, receiver: Proof, place: int):
    header = signed(clock)
    parts = header.split(";")
    parts[place] = parts[place][:-1] + ("0" if parts[place][-1] != "0" else "1")
    with pytest.raises(NotProven, match="was changed on its way"):
        receiver.verify(ASKED, ";".join(parts))
    assert receiver.verify(ASKED, header)


def test_parts_cannot_be_moved_into_each_other(clock: Clock, receiver: Proof):
    header = signed(clock, covered=ASKED._replace(sender="https://worker-0:8421x", principal="a principal"))
    with pytest.raises(NotProven):
        receiver.verify(ASKED._replace(principal="xa principal"), header)


@pytest.mark.parametrize("header", [None, "", "1", "1;2;3;4;5", "3;1700000000000;" + "0" * 32, ";" * 4, "é"])
def test_what_is_no_proof_is_none(receiver: Proof, header: str | None):
    with pytest.raises(NotProven, match="not signed"):
        receiver.verify(ASKED, header)


def test_a_request_counts_once(clock: Clock, receiver: Proof):
    header = signed(clock)
    receiver.verify(ASKED, header)
    for seconds in (0.0, 1.0, SKEW_SECONDS - 1):
        clock.now = clock.started + 1 + seconds
        with pytest.raises(NotProven, match="came before"):
            receiver.verify(ASKED, header)


@pytest.mark.parametrize("seconds", [-SKEW_SECONDS - 1, SKEW_SECONDS + 1])
def test_a_request_is_of_now(clock: Clock, receiver: Proof, seconds: float):
    header = signed(clock)
    clock.now += seconds
    with pytest.raises(NotProven, match="set the clocks"):
        receiver.verify(ASKED, header)


def test_what_an_earlier_process_may_have_seen_is_not_taken_again(clock: Clock):
    header = signed(clock)
    clock.now += 1
    with pytest.raises(NotProven, match="came before, or may have"):
        Proof([SECRET], clock).verify(ASKED, header)


def test_what_was_forgotten_for_lack_of_room_is_not_taken_again(
    clock: Clock, receiver: Proof, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(proofs, "MOST_NONCES", 3)
    sender = Proof([SECRET], clock)
    headers = []
    for _ in range(10):
        clock.now += 0.1
        headers.append(sender.sign(ASKED, BODY))
        receiver.verify(ASKED, headers[-1])
    for header in headers:
        with pytest.raises(NotProven, match="came before"):
            receiver.verify(ASKED, header)
    clock.now += 0.1
    assert receiver.verify(ASKED, sender.sign(ASKED, BODY))


def test_a_secret_is_changed_while_some_workers_have_the_old_one(clock: Clock):
    old, both, new = Proof([OLDER], clock), Proof([SECRET, OLDER], clock), Proof([SECRET], clock)
    clock.now += 1
    for sender, receivers in ((old, [old, both]), (both, [old, both, new]), (new, [both, new])):
        for receiver in receivers:
            assert receiver.verify(ASKED, sender.sign(ASKED, BODY))
    for sender, receiver in ((old, new), (new, old), (Proof([OTHER], clock), both)):
        with pytest.raises(NotProven, match="another secret"):
            receiver.verify(ASKED, sender.sign(ASKED, BODY))


def test_a_url_has_one_form():
    forms = ("https://Worker-1:443", "https://worker-1/", "https://worker-1")
    assert {normalised(form) for form in forms} == {"https://worker-1"}
