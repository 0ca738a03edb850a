"""Metrics for Prometheus: counters, kept as events happen; gauges are read from log and shards when scraped."""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from projections.shard.observations import tokens_by_model
from schemas.messages.inbox import ExtractionRejected

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mnemolog.worker.gauges import Gauges
    from schemas.messages.inbox import CandidatesExtracted

MEDIA_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
WAITING: Final = "waiting"
"""The pseudo-outcome of an item that is tried again."""
LAG_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Seconds; beyond one of them health is late."""
REASONS: Final = ("cut off", "not JSON", "wrong shape", "refused", "embedder", "failed")
"""The prefixes of rejection reasons, because labels need a closed set."""


class Metrics:
    """The counters of one worker, in a registry of its own. Labels never hold an id."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        items = Counter("mnemolog_items", "Items by what became of them", ("step", "outcome"), registry=registry)
        self._item = cache(items.labels)  # used several times for each item, and the library's lookup is slow
        seconds = Histogram("mnemolog_step_seconds", "Time that an item takes", ("step",), registry=registry)
        self._second = cache(seconds.labels)
        self._redelivered = Counter(
            "mnemolog_redeliveries", "Items that were done already", ("step",), registry=registry
        )
        self._retries = Counter("mnemolog_retries", "Attempts that are repeated", ("step", "reason"), registry=registry)
        self._rejections = Counter(
            "mnemolog_rejections", "Windows that could not be extracted", ("reason",), registry=registry
        )
        self._unopened = Counter(
            "mnemolog_sealed_records_unopened",
            "Reads of sealed records that were not opened",
            ("why",),
            registry=registry,
        )
        self._redactions = Counter(
            "mnemolog_redactions",
            "What was found in texts at the door and replaced or refused",
            ("kind", "action"),
            registry=registry,
        )
        self._requests = Counter("mnemolog_model_requests", "Requests to the model", ("outcome",), registry=registry)
        tokens = Counter("mnemolog_model_tokens", "Tokens of the model, in and out", ("direction",), registry=registry)
        self._tokens = cache(tokens.labels)
        tokens_of = Counter(
            "mnemolog_tokens_by_model", "Tokens of each model, in and out", ("model", "direction"), registry=registry
        )
        self._tokens_of = cache(tokens_of.labels)
        self._index_errors = Counter("mnemolog_index_errors", "Failed writes to the index", registry=registry)
        self._ticks = Counter(
            "mnemolog_ticks", "Ticks by what became of them", ("policy", "outcome"), registry=registry
        )
        self._by_words = Counter(
            "mnemolog_searches_by_words",
            "Searches and contexts that were answered by words alone, because the embedder was away",
            registry=registry,
        )
        answers = Counter("mnemolog_http_requests", "HTTP requests", ("route", "status"), registry=registry)
        self._answer = cache(answers.labels)
        answering = Histogram(
            "mnemolog_http_seconds", "Time until a request is answered", ("route",), registry=registry
        )
        self._answering = cache(answering.labels)
        self._lag = Histogram(
            "mnemolog_event_loop_lag_seconds",
            "How much later than planned the event loop comes to something",
            buckets=LAG_BUCKETS,
            registry=registry,
        )
        self._rebuilt = Gauge(
            "mnemolog_rebuild_progress_ratio", "How far the running rebuild is; 1 without one", registry=registry
        )
        self._rebuilt.set(1)

    def counted(self, step: str, outcome: str) -> None:
        """Count an item of a step; an item that waits for another attempt counts as a retry."""
        if outcome == WAITING:
            self._retries.labels(step, "unavailable").inc()
            if step == "project":
                self._index_errors.inc()
            return
        self._item(step, outcome).inc()
        if outcome == "repeated":
            self._redelivered.labels(step).inc()

    def unopened(self, why: str) -> None:
        """Count a read of a sealed record that was not opened: `erased` or `tampered`."""
        self._unopened.labels(why).inc()

    def redacted(self, kind: str, action: str, times: int) -> None:
        """Count findings in incoming texts: `redact` for those replaced, `refuse` for those that led to a refusal."""
        self._redactions.labels(kind, action).inc(times)

    def took(self, step: str, seconds: float) -> None:
        """Record how long an item of a step took."""
        self._second(step).observe(seconds)

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Record how long the block takes."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.took(step, time.perf_counter() - began)

    def extracted(self, item: CandidatesExtracted | ExtractionRejected) -> None:
        """Count the tokens of an extraction, and the reason of a rejection."""
        self._tokens("in").inc(item.tokens_in)
        self._tokens("out").inc(item.tokens_out)
        for took in tokens_by_model(item):
            self._tokens_of(took.model, "in").inc(took.tokens_in)
            self._tokens_of(took.model, "out").inc(took.tokens_out)
        if isinstance(item, ExtractionRejected):
            reason = next((r for r in REASONS if item.reason.startswith(r)), "other")
            self._rejections.labels(reason).inc()

    def asked(self, outcome: str) -> None:
        """Count a request to the model."""
        self._requests.labels(outcome).inc()

    def ticked(self, policy: str, outcome: str) -> None:
        """Count a tick."""
        self._ticks.labels(policy, outcome).inc()

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an HTTP request by the template of its route."""
        self._answer(route, str(status)).inc()
        self._answering(route).observe(seconds)

    def searched_by_words(self) -> None:
        """Count a search or a context that was answered without the embedder."""
        self._by_words.inc()

    def lagged(self, seconds: float) -> None:
        """Record how much later than planned the event loop ran a task."""
        self._lag.observe(max(0.0, seconds))

    async def exposition(self, gauges: Gauges | None) -> bytes:
        """Return all metrics in Prometheus' text format; without gauges, as before a start, only the counters."""
        if gauges is not None:
            self._rebuilt.set(gauges.rebuild_progress)
            await gauges.look()
        return generate_latest(self.registry)
