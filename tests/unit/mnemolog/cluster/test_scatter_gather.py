"""Answers of a group's workers: collected when they cover each partition once, and when the settings agree."""

from __future__ import annotations

import pytest

from mnemolog.cluster.peers import PeerUnavailable, WorkerAnswer, WorkersDiffer
from mnemolog.cluster.scatter_gather import check_settings, collect


def answer(url: str, *partitions: int, index: str = "embedded") -> WorkerAnswer:
    return WorkerAnswer(frozenset(partitions), {"from": url}, url, {"index": index, "embedding_model": "builtin"})


def test_workers_with_the_same_settings_pass():
    check_settings([answer("http://a", 0), answer("http://b", 1)])


def test_workers_that_differ_are_named_with_the_setting():
    with pytest.raises(WorkersDiffer, match=r"MNEMOLOG_INDEX is embedded at http://a, and weaviate://w:1 at http://b"):
        check_settings([answer("http://a", 0), answer("http://b", 1, index="weaviate://w:1")])


def test_answers_that_cover_each_partition_once_are_collected():
    assert collect([answer("http://b", 1), answer("http://a", 0, 2)], 3) == [{"from": "http://b"}, {"from": "http://a"}]


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ([answer("http://a", 0)], r"nobody holds \[1\]"),
        ([answer("http://a", 0, 1), answer("http://b", 1)], "held twice"),
    ],
)
def test_answers_about_partitions_that_move_are_refused(answers: list[WorkerAnswer], says: str):
    with pytest.raises(PeerUnavailable, match=says):
        collect(answers, 2)
