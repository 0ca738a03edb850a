"""Reembedding on all workers: each computes the vectors of its own users, and one of them adds up the results.

Each worker embeds global memories itself, because each searches them. The switch is a rebuild of the index with the
encoder's vectors (`rebuild_coordinator`): all build before any switches, so that no search sees a mixture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mnemolog.cluster.peers import WorkersDiffer
from mnemolog.operations.encoder_comparison import Recalls
from mnemolog.operations.encoding_builder import ReembedRefused
from projections.embedding.choice import EmbedderUnusable
from schemas.instant import instant

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from datetime import datetime

    from mnemolog.cluster.scatter_gather import ScatterGather
    from mnemolog.operations.encoder_comparison import LabelledQuestion
    from mnemolog.operations.rebuild_coordinator import RebuildCoordinator
    from mnemolog.operations.reembedding import Reembedder

    Share: TypeAlias = Callable[[str], Awaitable[dict[str, Any]]]

REPORT_SECONDS: Final = 5.0


class ReembedCoordinator:
    """Forecasts, builds, compares and activates an encoder on all workers at the request of one."""

    def __init__(self, reembedder: Reembedder, cluster: ScatterGather, rebuild: RebuildCoordinator) -> None:
        """`reembedder` does this worker's share."""
        self._reembedder = reembedder
        self._cluster = cluster
        self._rebuild = rebuild

    @property
    def active(self) -> str:
        """The encoder that serves."""
        return self._reembedder.active

    async def report(self) -> dict[str, Any]:
        """Return the serving encoder here, and the progress of a reembedding on all workers. Raises PeerUnavailable."""
        bodies = await self._cluster.gather(self.local_report(), "reembed/report", {}, REPORT_SECONDS)
        finished = [body.pop("finished") for body in bodies]
        running = [body["running"] for body in bodies if body["running"] is not None]
        if not running:
            return bodies[0]
        encoder, seconds = running[0]["encoder"], [one["remaining_seconds"] for one in running]
        shares = running + [
            done
            for done, body in zip(finished, bodies, strict=True)
            if body["running"] is None and done is not None and done["encoder"] == encoder
        ]
        summed = {name: sum(share[name] for share in shares) for name in ("done", "total")}
        rest = None if None in seconds else max(seconds)
        return bodies[0] | {"running": {"encoder": encoder, **summed, "remaining_seconds": rest}}

    async def forecast(self, encoder: str) -> dict[str, Any]:
        """Return the cost of a reembedding; workers embed concurrently, so the seconds are those of the slowest.

        Raises WorkersDiffer, ReembedRefused, PeerUnavailable, EmbedderUnavailable, EmbedderRefused, EmbedderUnusable.
        """
        bodies = await self._gather(encoder, "forecast", self._reembedder.builder.forecast)
        summed = {name: sum(body[name] for body in bodies) for name in ("memories", "characters", "tokens")}
        return {"encoder": encoder, **summed, "seconds": max(body["seconds"] for body in bodies)}

    async def build(self, encoder: str) -> dict[str, Any]:
        """Compute an encoder's missing vectors on all workers at the same time; existing ones are kept.

        Raises as `forecast`.
        """
        bodies = await self._gather(encoder, "build", self._reembedder.builder.build)
        summed = {name: sum(body[name] for body in bodies) for name in ("memories", "bytes")}
        seconds = max(body["seconds"] for body in bodies)
        return {"encoder": encoder, "model": bodies[0]["model"], **summed, "seconds": seconds}

    async def activate(self, encoder: str) -> dict[str, Any]:
        """Compute the missing vectors and let an encoder serve on all workers from now on, also after a restart.

        The same call switches back to the previous encoder; only memories formed meanwhile are then embedded. Raises as
        `forecast`, and as a rebuild; the former encoder then keeps serving on all workers.
        """
        built = await self.build(encoder)
        await self._rebuild.serve(encoder)
        return built

    async def compare(self, encoder: str, questions: Sequence[LabelledQuestion], now: datetime) -> dict[str, Any]:
        """Return the recalls of the active encoder and of another one. Raises as `forecast`.

        Recall at 5 and 10, 0 to 1, is the mean share of a question's expected ids that was found. `differing` has the
        places of the questions whose recall at 5 differs.
        """
        await self.build(encoder)
        asked = [
            {"tenant": q.owner.tenant, "user_id": q.owner.user_id, "query": q.query, "expected": sorted(q.expected)}
            for q in questions
        ]
        request = {"encoder": encoder, "questions": asked, "now": instant(now)}
        local = self.local_compare(encoder, questions, now)
        bodies = await self._cluster.gather(_or_refusal(local), "reembed/compare", request, None)
        _raise_refusal(bodies)
        if len({body["active"] for body in bodies}) > 1:
            raise WorkersDiffer("workers switch to another encoder just now: compare again in a moment")
        found = [{n: recall for body in bodies for n, *recall in body[side]} for side in ("of_active", "of_other")]
        both = [{n: (five, ten, seconds) for n, (five, ten, seconds) in side.items()} for side in found]
        return Recalls(bodies[0]["active"], encoder, *both).report()

    # -- this worker's share

    async def local_report(self) -> dict[str, Any]:
        """Return the serving encoder here, the progress of a running reembedding, and the share completed last."""
        done = self._reembedder.builder.finished
        share = None if done is None else {"encoder": done.encoder, "done": done.done, "total": done.total}
        return self._reembedder.report() | {"finished": share}

    async def local_forecast(self, encoder: str) -> dict[str, Any]:
        """Return the cost of this worker's share, or the reason of a refusal."""
        return await _or_refusal(self._reembedder.builder.forecast(encoder))

    async def local_build(self, encoder: str) -> dict[str, Any]:
        """Compute this worker's share, or return the reason of a refusal."""
        return await _or_refusal(self._reembedder.builder.build(encoder))

    async def local_compare(self, encoder: str, questions: Sequence[LabelledQuestion], now: datetime) -> dict[str, Any]:
        """Return the results of this worker's users, by the places of their questions."""
        found = await self._reembedder.compare(encoder, questions, now)
        return {
            "active": found.active,
            "of_active": [[place, *recall] for place, recall in found.of_active.items()],
            "of_other": [[place, *recall] for place, recall in found.of_other.items()],
        }

    async def _gather(self, encoder: str, operation: str, share: Share) -> list[dict[str, Any]]:
        """Make all workers do their share with the same model. Raises as `forecast`."""
        await self._cluster.check_settings()
        bodies = await self._cluster.gather(share(encoder), f"reembed/{operation}", {"encoder": encoder}, None)
        _raise_refusal(bodies)
        if len(models := {body["model"] for body in bodies}) > 1:
            raise WorkersDiffer(
                f"{encoder} is not the same on all workers ({' and '.join(sorted(models))}): make it so"
            )
        return bodies


async def _or_refusal(work: Awaitable[dict[str, Any]]) -> dict[str, Any]:
    """Return the result of the work, or, as `refusal`, what an operator must mend at the worker."""
    try:
        return await work
    except (EmbedderUnusable, ReembedRefused) as error:
        return {"refusal": str(error)}


def _raise_refusal(bodies: Sequence[dict[str, Any]]) -> None:
    for body in bodies:
        if "refusal" in body:
            raise ReembedRefused(f"another worker cannot use that encoder: {body['refusal']}")
