"""The clock that a worker goes by: what makes it doubt the machine's, and what makes it believe that again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from support.tables import each

from mnemolog.clock.doubt import DIFFERS, GAP, JUMPED, STEP
from mnemolog.clock.trusted_clock import BROKER, TrustedClock

MONDAY = datetime(2026, 1, 5, 8, tzinfo=UTC)
SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)
MONTH = 30 * DAY
YEAR_2105 = datetime(2105, 11, 9, tzinfo=UTC)


class Machine:
    """A machine whose clock may be set, while its steady one runs on."""

    def __init__(self) -> None:
        self.wall, self.seconds = MONDAY, 1000.0
        self.clock = TrustedClock(self, lambda: self.seconds)

    def now(self) -> datetime:
        return self.wall

    def run(self, span: timedelta) -> datetime:
        """Let time pass, as both clocks see it."""
        self.wall += span
        self.seconds += span.total_seconds()
        return self.clock.now()

    def set(self, by: timedelta) -> datetime:
        """Set the wall clock."""
        self.wall += by
        return self.clock.now()

    @property
    def cause(self) -> str | None:
        doubt = self.clock.doubt
        return None if doubt is None else doubt.cause


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_an_undisturbed_clock_is_the_machines(machine: Machine):
    for span in (SECOND, HOUR, 400 * DAY):
        assert machine.run(span) == machine.wall
    assert not machine.clock.is_doubted()


@each("days", (400, -400, 28_830, 1, -1))
def test_a_clock_that_jumps_and_comes_back_has_never_been_elsewhere(days: int):
    machine = Machine()
    before = machine.run(HOUR)
    assert machine.set(days * DAY) == before
    assert machine.cause == JUMPED
    assert machine.run(75 * SECOND) == before + 75 * SECOND
    assert machine.clock.is_doubted()
    assert machine.set(-days * DAY) == before + 75 * SECOND
    assert not machine.clock.is_doubted()


def test_small_steps_are_taken_as_they_come(machine: Machine):
    for step in (STEP, -STEP, SECOND, -30 * SECOND):
        assert machine.set(step) == machine.wall
        machine.run(SECOND)
    assert not machine.clock.is_doubted()


@each("jump,waits", ((HOUR, HOUR), (-HOUR, HOUR), (8 * HOUR, 8 * HOUR), (3 * DAY, DAY), (MONTH, DAY)))
def test_an_ordinary_jump_is_believed_when_the_clock_has_run_on_as_long(jump: timedelta, waits: timedelta):
    machine = Machine()
    machine.set(jump)
    machine.run(waits - SECOND)
    assert machine.clock.is_doubted()
    assert machine.run(SECOND) == machine.wall
    assert not machine.clock.is_doubted()


def test_a_jump_beyond_the_longest_gap_waits_for_somebody(machine: Machine):
    machine.set(MONTH + DAY)
    machine.run(400 * DAY)
    assert machine.cause == JUMPED
    machine.clock.confirm("somebody says so")
    assert machine.clock.now() == machine.wall
    assert not machine.clock.is_doubted()


def test_each_jump_is_a_new_one(machine: Machine):
    before = machine.set(HOUR)
    machine.run(HOUR - SECOND)
    machine.set(HOUR)
    assert machine.run(2 * HOUR - SECOND) == before + 3 * HOUR - 2 * SECOND
    assert machine.clock.is_doubted()
    machine.run(SECOND)
    assert not machine.clock.is_doubted()


def test_a_log_that_is_much_older_is_gone_on_from_until_a_day_has_passed(machine: Machine):
    newest = MONDAY - 60 * DAY
    machine.clock.look_back(newest, MONTH)
    assert machine.cause == GAP
    assert machine.run(HOUR) == newest + HOUR
    assert machine.run(23 * HOUR) == machine.wall
    assert not machine.clock.is_doubted()


def test_the_day_may_be_spread_over_several_starts(machine: Machine):
    machine.clock.look_back(MONDAY - 60 * DAY, MONTH, ran=20 * HOUR)
    machine.run(3 * HOUR)
    assert machine.clock.ran_steadily() == 23 * HOUR
    assert machine.run(HOUR) == machine.wall
    assert machine.clock.ran_steadily() == timedelta()


def test_a_clock_that_was_ahead_at_the_start_and_is_put_right_is_back(machine: Machine):
    newest = machine.wall
    machine.set(400 * DAY)
    machine.clock = TrustedClock(machine, lambda: machine.seconds)
    machine.clock.look_back(newest, MONTH)
    assert machine.run(HOUR) == newest + HOUR
    assert machine.set(-400 * DAY) == machine.wall
    assert not machine.clock.is_doubted()


@each("stopped", (timedelta(), HOUR, DAY, MONTH))
def test_a_clock_that_was_ahead_at_the_start_is_back_however_long_the_worker_had_stopped(stopped: timedelta):
    machine = Machine()
    newest = machine.wall - stopped
    machine.set(28_830 * DAY)
    machine.clock = TrustedClock(machine, lambda: machine.seconds)
    machine.clock.look_back(newest, MONTH + HOUR)
    machine.run(75 * SECOND)
    assert machine.cause == GAP
    assert machine.set(-28_830 * DAY) == machine.wall
    assert not machine.clock.is_doubted()


def test_a_clock_that_is_set_nearer_to_the_log_but_not_near_begins_its_day_anew(machine: Machine):
    newest = MONDAY - 400 * DAY
    machine.clock.look_back(newest, MONTH, ran=20 * HOUR)
    machine.run(HOUR)
    machine.set(-340 * DAY)
    assert machine.cause == GAP
    machine.run(23 * HOUR)
    assert machine.clock.is_doubted()
    assert machine.run(HOUR) == machine.wall
    assert not machine.clock.is_doubted()


@each("by", (-402 * DAY, DAY, 28_830 * DAY))
def test_a_clock_that_the_log_spoke_against_and_that_goes_elsewhere_has_jumped(by: timedelta):
    machine = Machine()
    machine.clock.look_back(MONDAY - 400 * DAY, MONTH)
    machine.set(by)
    assert machine.cause == JUMPED


def test_a_clock_that_a_witness_spoke_against_is_not_back_near_the_log(machine: Machine):
    newest = MONDAY - 400 * DAY
    machine.clock.look_back(newest, MONTH)
    machine.clock.hear(BROKER, newest + DAY)
    assert machine.set(-390 * DAY) == newest + DAY
    assert machine.cause == JUMPED


@each("gap,longest", ((MONTH, MONTH), (-STEP, MONTH), (-400 * DAY, MONTH), (400 * DAY, timedelta())))
def test_other_gaps_are_nobodys_matter(gap: timedelta, longest: timedelta):
    machine = Machine()
    machine.clock.look_back(MONDAY - gap, longest)
    assert machine.clock.now() == MONDAY
    assert not machine.clock.is_doubted()


def test_a_clock_behind_the_log_may_be_set_to_where_the_log_ends(machine: Machine):
    newest = machine.wall + 9_000 * DAY
    machine.clock.look_back(newest, MONTH)
    assert machine.set(9_002 * DAY) == newest + 2 * DAY
    assert not machine.clock.is_doubted()


def test_a_witness_ends_a_doubt_or_lets_it_stand(machine: Machine):
    machine.clock.look_back(MONDAY - 60 * DAY, MONTH)
    machine.clock.hear("the kernel", MONDAY - 60 * DAY)
    assert machine.cause == GAP
    machine.clock.hear("the kernel", MONDAY + SECOND)
    assert machine.clock.now() == MONDAY
    assert not machine.clock.is_doubted()


def test_a_clock_that_differs_from_the_brokers_is_doubted(machine: Machine):
    machine.clock.hear(BROKER, MONDAY - 2 * HOUR)
    assert machine.cause == DIFFERS
    machine.run(HOUR)
    machine.clock.hear(BROKER, machine.wall)
    assert not machine.clock.is_doubted()


def test_a_broker_that_differs_for_long_is_lived_with(machine: Machine):
    machine.clock.hear(BROKER, MONDAY - 2 * HOUR)
    machine.run(2 * HOUR)
    machine.clock.hear(BROKER, machine.wall - 2 * HOUR)
    assert not machine.clock.is_doubted()
    machine.clock.hear(BROKER, machine.wall - 3 * HOUR)
    assert machine.cause == DIFFERS


def test_the_most_of_the_others_count_and_the_broker_before_them(machine: Machine):
    machine.clock.hear("one", MONDAY)
    machine.clock.hear("two", MONDAY - DAY)
    assert not machine.clock.is_doubted()
    machine.clock.hear("three", MONDAY - DAY)
    assert machine.cause == DIFFERS
    machine.clock.hear(BROKER, MONDAY)
    assert not machine.clock.is_doubted()


def test_what_a_witness_said_before_a_jump_says_nothing_after_it(machine: Machine):
    machine.clock.hear(BROKER, MONDAY)
    machine.set(400 * DAY)
    machine.clock.hear(BROKER, MONDAY)
    assert machine.cause == JUMPED
    machine.clock.hear("one", machine.wall)
    assert machine.cause == JUMPED


def test_a_chosen_clock_is_believed_whatever_it_says():
    machine = Machine()
    clock = TrustedClock.of(machine)
    clock.look_back(MONDAY - 400 * DAY, MONTH)
    clock.hear(BROKER, MONDAY - DAY)
    machine.wall = YEAR_2105
    assert clock.now() == YEAR_2105
    assert not clock.is_doubted()


def test_it_says_in_a_sentence_what_is_wrong_and_what_to_do(machine: Machine):
    assert machine.clock.describe() is None
    machine.set(400 * DAY)
    assert machine.clock.describe() == (
        "the clock says 2027-02-09T08:00:00Z, and was set ahead by 400 days while the worker ran: ticks, expiry, "
        "retention and wakes wait until it is back, or until `mnemolog clock confirm` says that it is right"
    )
