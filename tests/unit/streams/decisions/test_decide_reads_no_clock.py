"""No rule reads a clock, a time zone or the machine's chance: the same items are decided the same in another world."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

WORLD = """
import datetime, hashlib, random, time
real = datetime.datetime

class Later(real):
    @classmethod
    def now(cls, tz=None):
        return real(2099, 12, 31, tzinfo=datetime.UTC).astimezone(tz)

    @classmethod
    def utcnow(cls):
        return real(2099, 12, 31)

    @classmethod
    def today(cls):
        return real(2099, 12, 31)

if {elsewhere}:
    datetime.datetime = Later
    time.time = lambda: 4102444800.0
    time.time_ns = lambda: 4102444800 * 10**9
    random.seed(99)
time.tzset()

from support.examples import episode, extracted, forget, later, piece, recalled, remember, restore, revise, said, tick
from support.given import given
from schemas import codec

known = given(
    said("用户喜欢喝咖啡", "t-1"),
    said("用户很喜欢喝咖啡", "t-2", later(days=1)),
    said("用户住在北京", "t-3", attribute="city", value="北京", memory_type="short_term"),
    said("用户住在上海", "t-4", later(days=1), attribute="city", value="上海"),
    extracted(*(episode("用户送给露娜一束红玫瑰" + x, "t-5", occurred_on="2026-01-04") for x in ("", "和卡片")),
              covers=[piece("t-5", later(days=2))]),
    remember("User likes tea", "c-1", later(days=2)),
)
decided = []
ids = [m.memory_id for m in known.memories]
for item in (
    recalled(*ids, command="r-1", at=later(days=3)),
    revise(ids[0], "c-2", later(days=3), content="用户喜欢喝绿茶"),
    forget(ids[1], "c-3", later(days=4)),
    tick(later(days=12)),
    tick(later(days=14), "ebbinghaus"),
    restore(ids[1], "c-4", later(days=15)),
):
    known = known.when(item)
    decided += [codec.encode(d) for d in known.decisions]
assert len(decided) >= 6
print(hashlib.sha256(b"".join(decided)).hexdigest())
"""


def decided_in(zone: str, seed: str, *, elsewhere: bool) -> str:
    """Return the digest of the sample's decisions, made in a world of its own."""
    environment = {
        **os.environ,
        "TZ": zone,
        "PYTHONHASHSEED": seed,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }
    command = [sys.executable, "-c", WORLD.format(elsewhere=elsewhere)]
    return subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout  # noqa: S603 - this very Python


@pytest.fixture(scope="module")
def here() -> str:
    return decided_in("UTC", "0", elsewhere=False)


@pytest.mark.parametrize(("zone", "seed"), [("Asia/Shanghai", "1"), ("America/St_Johns", "2")])
def test_the_same_items_are_decided_the_same_in_another_zone_and_year(here: str, zone: str, seed: str):
    assert len(here) == 65
    assert decided_in(zone, seed, elsewhere=True) == here
