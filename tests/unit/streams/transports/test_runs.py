"""The order in which a fetch is delivered."""

from __future__ import annotations

from itertools import groupby

from faust.types import TP

from streams.transports.runs import RUN_RECORDS, Runs


def delivered(records: dict[TP, list[int]]) -> list[tuple[TP, int]]:
    return list(Runs().iterate(records))


def test_every_record_is_delivered_once_and_those_of_a_partition_in_their_order():
    records = {
        TP(topic, partition): list(range(length))
        for topic, partition, length in (("a", 0, 200), ("a", 1, 0), ("a", 2, 1), ("b", 0, RUN_RECORDS), ("b", 1, 65))
    }
    order = delivered(records)
    assert len(order) == sum(map(len, records.values()))
    for tp, expected in records.items():
        assert [record for place, record in order if place == tp] == expected


def test_a_partition_waits_for_one_run_of_each_other_one():
    long, short = TP("a", 0), TP("a", 1)
    order = delivered({long: list(range(10 * RUN_RECORDS)), short: [0]})
    assert order.index((short, 0)) == RUN_RECORDS


def test_topics_take_turns_however_many_partitions_they_have():
    records = {TP("a", partition): list(range(RUN_RECORDS)) for partition in range(8)} | {TP("b", 0): [0]}
    assert delivered(records).index((TP("b", 0), 0)) == RUN_RECORDS


def test_a_run_is_of_one_partition():
    records = {TP("a", partition): list(range(2 * RUN_RECORDS)) for partition in range(3)}
    runs = [(place.partition, len(list(run))) for place, run in groupby(delivered(records), key=lambda one: one[0])]
    assert runs == [(partition, RUN_RECORDS) for partition in (0, 1, 2, 0, 1, 2)]


def test_nothing_fetched_delivers_nothing():
    assert not delivered({})
