"""Weaviate's address: where its readiness is asked, and how it is shown again."""

from __future__ import annotations

import httpx
import pytest

from projections.index.weaviate.address import WeaviateAddress


def test_one_at_an_address_of_ipv6_is_asked_there():
    asked = httpx.URL(WeaviateAddress.parse("weaviate://[::1]:9").ready_url)
    assert (asked.scheme, asked.host, asked.port) == ("http", "::1", 9)


def test_one_with_tls_is_asked_over_tls():
    asked = httpx.URL(WeaviateAddress.parse("weaviates://search.example:8443").ready_url)
    assert (asked.scheme, asked.host, asked.port) == ("https", "search.example", 8443)


@pytest.mark.parametrize("url", ["weaviate://host:8080?grpc=50051", "weaviates://host:443?grpc=1"])
def test_it_is_shown_as_the_settings_spell_it(url: str):
    assert str(WeaviateAddress.parse(url)) == url
