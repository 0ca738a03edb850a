"""What the workers of a group answer together."""

from __future__ import annotations

import pytest

from mnemolog.peers import Part, PeerUnavailable, WorkersDiffer, alike, whole


def part(url: str, *partitions: int, index: str = "embedded") -> Part:
    return Part(frozenset(partitions), {"from": url}, url, {"index": index, "embedding_model": "builtin"})


def test_workers_with_the_same_settings_are_alike():
    alike([part("http://a", 0), part("http://b", 1)])


def test_workers_that_differ_are_named_with_the_setting():
    with pytest.raises(WorkersDiffer, match=r"MNEMOLOG_INDEX is embedded at http://a, and weaviate://w:1 at http://b"):
        alike([part("http://a", 0), part("http://b", 1, index="weaviate://w:1")])


def test_parts_that_cover_each_partition_once_are_whole():
    assert whole([part("http://b", 1), part("http://a", 0, 2)], 3) == [{"from": "http://b"}, {"from": "http://a"}]


@pytest.mark.parametrize(
    ("parts", "says"),
    [([part("http://a", 0)], r"nobody holds \[1\]"), ([part("http://a", 0, 1), part("http://b", 1)], "held twice")],
)
def test_parts_of_partitions_that_move_are_not(parts: list[Part], says: str):
    with pytest.raises(PeerUnavailable, match=says):
        whole(parts, 2)
