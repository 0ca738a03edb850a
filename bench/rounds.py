"""Ratios of alternating rounds. Machines are noisy, so both sides are measured in each round, and the median counts."""

from __future__ import annotations

import os
import statistics
from dataclasses import dataclass, field


@dataclass(slots=True)
class Rounds:
    """The rates, in items per second, of both sides, a pair for each round."""

    name: str
    target: float | None
    """The least wanted ratio (docs/evidence/performance.md); None if there is none."""
    measured: list[float] = field(default_factory=list)
    compared: list[float] = field(default_factory=list)

    def add(self, measured: float, compared: float) -> None:
        """Add a round, and print it."""
        self.measured.append(measured)
        self.compared.append(compared)
        print(f"  {self.name}: {measured:,.0f}/s against {compared:,.0f}/s: {measured / compared:.2f}", flush=True)

    def result(self) -> dict[str, object]:
        """Print the median ratio, and return all values in a form that JSON can represent."""
        ratios = [m / c for m, c in zip(self.measured, self.compared, strict=True)]
        ratio = statistics.median(ratios)
        wanted = "none" if self.target is None else self.target
        print(f"{self.name}: ratio {ratio:.2f} (target {wanted}), of {len(ratios)} rounds", flush=True)
        return {
            "ratio": round(ratio, 3),
            "target": self.target,
            "ratios": [round(r, 3) for r in ratios],
            "measured_per_second": round(statistics.median(self.measured)),
            "compared_per_second": round(statistics.median(self.compared)),
        }


def processor_seconds() -> float:
    """Return the processor time, in seconds, of this process and of its children that it has waited for."""
    return sum(os.times()[:4])
