"""Renders the chart with the real helm."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).resolve().parents[2] / "helm" / "mnemolog"
RELEASE, NAMESPACE = "demo", "memory"


def run(helm: str, command: list[str], values: dict[str, Any], chart: Path = CHART) -> subprocess.CompletedProcess[str]:
    """Run helm on the chart with values given as a file on stdin."""
    options = ["--namespace", NAMESPACE, "--values", "-"]
    return subprocess.run(  # noqa: S603
        [helm, *command, str(chart), *options],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=False,
    )


def rendered(helm: str, values: dict[str, Any], chart: Path = CHART) -> list[dict[str, Any]]:
    """Return the manifests, AssertionError with helm's words when there are none."""
    done = run(helm, ["template", RELEASE], values, chart)
    assert (done.returncode, done.stderr) == (0, "")
    return [manifest for manifest in yaml.safe_load_all(done.stdout) if manifest]


def refusal(helm: str, values: dict[str, Any], chart: Path = CHART) -> str:
    """Return what helm says when it refuses the values; AssertionError when it does not."""
    done = run(helm, ["template", RELEASE], values, chart)
    assert done.returncode != 0, "helm accepted it"
    return done.stderr


def of_kind(manifests: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the manifests of one kind."""
    return [manifest for manifest in manifests if manifest["kind"] == kind]


def pods(manifests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the pod specs of workers and jobs."""
    return [
        manifest["spec"]["template"]["spec"] for kind in ("StatefulSet", "Job") for manifest in of_kind(manifests, kind)
    ]


def environment(pod: dict[str, Any]) -> dict[str, str | None]:
    """Return the environment of a pod's one container; None for what is taken from elsewhere."""
    (container,) = pod["containers"]
    return {variable["name"]: variable.get("value") for variable in container["env"]}
