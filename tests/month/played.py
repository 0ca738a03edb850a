"""Plays the whole month on workers that are there, and returns the digest in which it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from month.asking_in_turn import MonthClient
from month.living import live
from month.looking_back import look_back

if TYPE_CHECKING:
    from collections.abc import Sequence

    from month.asking_in_turn import Present

SETTINGS: Final = {"EXTRACTOR": "rules", "DECAY_POLICY": "off"}
"""The same words are the same memories, and only the script ticks."""


async def play(urls: Sequence[str], present: Present) -> dict[str, str]:
    """Live through the month and look back on it; rebuild, and return the digest, which every worker tells alike."""
    asking = MonthClient(urls, present)
    try:
        await live(asking)
        await look_back(asking)
        told = [await asking.get("/v1/admin/digest") for _ in urls]
        rebuilt = await asking.json("POST", "/v1/admin/rebuild", {"what": "all"})
        assert (rebuilt["equal"], rebuilt["digest_after"]) == (True, told[0]["total"])
        told += [await asking.get("/v1/admin/digest") for _ in urls]
        assert told == [told[0]] * len(told)
        digest: dict[str, str] = told[0]
        return digest
    finally:
        await asking.close()
