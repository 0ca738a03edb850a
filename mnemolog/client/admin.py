"""The operators' routes as calls. Each call is sent once, since only the caller knows whether a repeat is safe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mnemolog.client.call import Call, Instant, Json, get, given, whole
from mnemolog.client.carrier import method

if TYPE_CHECKING:
    from collections.abc import Sequence

REBUILD_SECONDS: Final = 86_400.0
"""A timeout that never takes effect in practice: a rebuild answers only when it is done."""


def digest() -> Call[Json]:
    """Return one SHA-256 for each projection, and `total` over all."""
    return get("/v1/admin/digest")


def checks() -> Call[Json]:
    """Return what the server reaches: `{ok, checks: [{name, ok, detail, advice}]}`."""
    return get("/v1/admin/checks")


def drain(timeout_seconds: float = 60.0) -> Call[Json]:
    """End open sessions and return the counts when everything published so far can be found.

    Raises Unavailable when that takes longer than `timeout_seconds`.
    """
    return _post("drain", {"timeout": timeout_seconds}, timeout_seconds)


def reextract(
    *,
    user_id: str | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    before: Instant | None = None,
) -> Call[Json]:
    """Extract the next rejected windows again: `{windows, extracted, rejected, memories, gone, left, before}`.

    Call it with the `before` of the first answer until nothing is `left`.
    """
    asked = given(what="rejected", user_id=user_id, since=since, until=until, before=before)
    return _post("reextract", asked, REBUILD_SECONDS)


def tick(
    as_of: Instant, *, policy: str | None = None, force: bool = False, timeout_seconds: float = 60.0
) -> Call[Json]:
    """Let decay happen as of an instant: `{tick_id, policy, as_of, changed, decayed, expired, applied}`."""
    return _post("ticks", given(as_of=as_of, policy=policy, force=force, timeout=timeout_seconds), timeout_seconds)


def clock() -> Call[Json]:
    """Return how the workers' clocks are: `{ok, workers: [{worker, now, machine, doubt, conditions, …}]}`."""
    return get("/v1/admin/clock")


def confirm_clock(*, timeout_seconds: float = 60.0) -> Call[Json]:
    """Say that the workers' clocks are right, so that what waited goes on: `{as_of, applied, workers}`."""
    return _post("clock/confirm", given(timeout=timeout_seconds), timeout_seconds)


def rebuild(what: str = "all", *, activate: int | None = None) -> Call[Json]:
    """Fold the log into a new generation: `{generation, decisions, seconds, digest_before, digest_after, equal}`.

    With `activate` that of the number is brought up to date and switched to.
    """
    return _post("rebuild", given(what=what, activate=activate), REBUILD_SECONDS)


def generations() -> Call[Json]:
    """List the generations: `{active, generations: [number]}`."""
    return get("/v1/admin/rebuild")


def reembed(encoder: str | None = None, *, what: str = "build") -> Call[Json]:
    """Make an encoder's vectors beside those that serve: `{encoder, model, memories, seconds, bytes}`.

    `what`: `forecast` says what that takes (`{encoder, memories, characters, tokens, seconds}`), `activate` makes them
    and lets the encoder serve. Without an encoder it is the active one.
    """
    return _post("reembed", given(encoder=encoder, what=what), REBUILD_SECONDS)


def reembedding() -> Call[Json]:
    """Return which encoder serves: `{active, model, configured, is_encoding, running}`."""
    return get("/v1/admin/reembed")


def compare_encoders(encoder: str, questions: Sequence[Json]) -> Call[Json]:
    """Ask the active encoder and another one questions `{user_id, query, expected: [id]}`.

    `{questions, active, other, differing}`, with `{encoder, recall_at_5, recall_at_10, milliseconds}` of both. The
    expected ids are those of memories, or of the events that they are from.
    """
    return _post("reembed/compare", {"encoder": encoder, "questions": list(questions)}, REBUILD_SECONDS)


def model_usage(by: str = "user", *, since: Instant | None = None, until: Instant | None = None) -> Call[Json]:
    """Return what the model was asked and what it cost, by `user`, `agent`, `day` (UTC) or `model`.

    `{items: [{…, calls, tokens_in, tokens_out}], calls, tokens_in, tokens_out}`, of all tenants.
    """
    return get("/v1/admin/usage", by=by, since=since, until=until)


def rotate_master_key() -> Call[Json]:
    """Rewrap all data keys with a newer master key: `{kek_id, wrapped, retired}`."""
    return _post("keys/rotate", {}, REBUILD_SECONDS)


def metrics() -> Call[str]:
    """Return what Prometheus would read."""
    return Call(method="GET", path="/metrics", is_text=True, is_repeatable=True, read=lambda body: str(body["text"]))


def dead_letters() -> Call[Json]:
    """List what could not be read or handled, and why: `{items, total}`."""
    return get("/v1/admin/dead-letters")


def retry_dead_letters(ids: Sequence[str] | None = None) -> Call[Json]:
    """Send dead letters (all, or those named) back where they came from: `{retried: [id]}`."""
    return _post("dead-letters", given(ids=None if ids is None else list(ids)))


def _post(name: str, body: Json, wait_seconds: float = 0.0) -> Call[Json]:
    return Call(method="POST", path=f"/v1/admin/{name}", body=body, wait_seconds=wait_seconds, read=whole)


class AdminMethods:
    """The methods of these calls, of both clients."""

    checks = method(checks)
    digest = method(digest)
    drain = method(drain)
    reextract = method(reextract)
    tick = method(tick)
    rebuild = method(rebuild)
    generations = method(generations)
    reembed = method(reembed)
    reembedding = method(reembedding)
    compare_encoders = method(compare_encoders)
    model_usage = method(model_usage)
    clock = method(clock)
    confirm_clock = method(confirm_clock)
    rotate_master_key = method(rotate_master_key)
    metrics = method(metrics)
    dead_letters = method(dead_letters)
    retry_dead_letters = method(retry_dead_letters)
