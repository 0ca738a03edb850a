"""Asking Weaviate whether it is ready raises nothing, whatever its address is and whenever it is asked."""

from __future__ import annotations

import httpx
import pytest

from projections.index.weaviate.address import WeaviateAddress
from projections.index.weaviate.readiness import WeaviateReadiness


@pytest.mark.parametrize("url", ["weaviate://[::1]:9", "weaviate://a\x7fb:9", "weaviate://127.0.0.1:9"])
async def test_one_that_nobody_can_reach_is_not_ready(url: str):
    asking = WeaviateReadiness(WeaviateAddress.parse(url), None)
    assert await asking.trouble()
    await asking.close()


def test_one_at_an_address_of_ipv6_is_asked_there():
    asked = httpx.URL(WeaviateReadiness(WeaviateAddress.parse("weaviate://[::1]:9"), None)._url)
    assert (asked.host, asked.port) == ("::1", 9)


@pytest.mark.parametrize("asked_before", [True, False])
async def test_after_its_end_it_is_asked_no_more(asked_before: bool):  # noqa: FBT001
    asking = WeaviateReadiness(WeaviateAddress.parse("weaviate://127.0.0.1:9"), None)
    if asked_before:
        await asking.trouble()
    await asking.close()
    assert "asked no more" in (await asking.trouble() or "")
