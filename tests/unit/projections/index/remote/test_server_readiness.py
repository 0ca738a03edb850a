"""Asking a server whether it is ready raises nothing, whatever its address is and whenever it is asked."""

from __future__ import annotations

import pytest

from projections.index.remote.readiness import HttpReadiness


@pytest.mark.parametrize("url", ["http://[::1]:9/ready", "http://a\x7fb:9/ready", "http://127.0.0.1:9/ready"])
async def test_one_that_nobody_can_reach_is_not_ready(url: str):
    readiness = HttpReadiness(url, {})
    assert await readiness.trouble()
    await readiness.close()


@pytest.mark.parametrize("asked_before", [True, False])
async def test_after_its_end_it_is_asked_no_more(asked_before: bool):  # noqa: FBT001
    readiness = HttpReadiness("http://127.0.0.1:9/ready", {})
    if asked_before:
        await readiness.trouble()
    await readiness.close()
    assert "asked no more" in (await readiness.trouble() or "")
