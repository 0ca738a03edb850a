"""Ratios of alternating rounds: machines are noisy, so both sides are measured in each round, and the median counts."""

from __future__ import annotations

import os
import statistics
from dataclasses import dataclass, field


@dataclass(slots=True)
class Rounds:
    """Rates, in items a second, of what is measured and of what it is compared with, a pair for each round."""

    name: str
    target: float | None
    """The least ratio wanted, see docs/evidence/performance.md; None where none is."""
    measured: list[float] = field(default_factory=list)
    compared: list[float] = field(default_factory=list)

    def add(self, measured: float, compared: float) -> None:
        """Take a round in, and say what it was."""
        self.measured.append(measured)
        self.compared.append(compared)
        print(f"  {self.name}: {measured:,.0f}/s against {compared:,.0f}/s: {measured / compared:.2f}", flush=True)

    def result(self) -> dict[str, object]:
        """Print the median ratio, and return everything as JSON can hold it."""
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
    """Return the processor time of this process and of those of its children that have ended and were waited for."""
    return sum(os.times()[:4])
