"""Plays the whole month on workers that are there, and returns the digest in which it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from month.days import live
from month.month_client import MonthClient
from month.review import look_back

if TYPE_CHECKING:
    from collections.abc import Sequence

    from month.month_client import Present

SETTINGS: Final = {"EXTRACTOR": "rules", "DECAY_POLICY": "off"}
"""The same words are the same memories, and only the script ticks."""


async def play(urls: Sequence[str], present: Present) -> dict[str, str]:
    """Live through the month and look back on it; rebuild, and return the digest, which every worker tells alike."""
    client = MonthClient(urls, present)
    try:
        await live(client)
        await look_back(client)
        told = [await client.get("/v1/admin/digest") for _ in urls]
        rebuilt = await client.json("POST", "/v1/admin/rebuild", {"what": "all"})
        assert (rebuilt["equal"], rebuilt["digest_after"]) == (True, told[0]["total"])
        told += [await client.get("/v1/admin/digest") for _ in urls]
        assert told == [told[0]] * len(told)
        digest: dict[str, str] = told[0]
        return digest
    finally:
        await client.close()
