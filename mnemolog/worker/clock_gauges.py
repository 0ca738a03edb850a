"""Gauges of the clock: whether it is trusted, and how far it and the log's time are from the elapsed time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from mnemolog.clock.doubt import CAUSES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client import Metric

    from mnemolog.clock.trusted_clock import TrustedClock
    from mnemolog.operations.clocks import Clocks


class ClockGauges(Collector):
    """The gauges of the clock, read at each scrape; reading never blocks."""

    def __init__(self, clock: TrustedClock, clocks: Clocks) -> None:
        self._clock = clock
        self._clocks = clocks

    def collect(self) -> Iterable[Metric]:
        """Yield the current values of the gauges."""
        doubt = self._clock.doubt
        doubted = GaugeMetricFamily("mnemolog_clock_doubted", "1 where the clock is not believed", labels=("cause",))
        for cause in CAUSES:
            doubted.add_metric((cause,), float(doubt is not None and doubt.cause == cause))
        ahead = (self._clock.machine_now() - self._clock.now()).total_seconds()
        yield doubted
        yield GaugeMetricFamily(
            "mnemolog_clock_ahead_seconds", "How far the machine's clock is ahead of the time gone by", ahead
        )
        yield GaugeMetricFamily(
            "mnemolog_log_ahead_seconds",
            "How far the log's newest time lies ahead of the clock",
            self._clocks.log_ahead.total_seconds(),
        )
