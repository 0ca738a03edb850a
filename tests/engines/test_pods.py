"""The chart's pods as processes: what it renders, run as it says on a real Kafka and Weaviate. No container is started.

What stands in for the cluster: the containers' paths lie below a folder, each pod has an address of its own in the
loopback range (both listen on the same ports), and names that end in `.svc` are resolved to these addresses.
"""

from __future__ import annotations

import json
import re
import ssl
import subprocess
import sys
import time
from base64 import b64decode
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import fetch_tools
import httpx
import pytest
from deployment.rendering import NAMESPACE, environment, of_kind, rendered
from deployment.values import MINIMAL
from support.certificates import Authority
from support.mnemolog_up import environment as without_settings

from projections.index.weaviate.address import WeaviateAddress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.weaviate_server import WeaviateServer

PORT, WORKERS_PORT = 19340, 19341
START_S = 240.0
"""Only what hangs takes so long."""
SERVICE = f"demo-mnemolog.{NAMESPACE}.svc"
PODS = ("demo-mnemolog-0", "demo-mnemolog-1")
RESOLVER = f"""
import socket
import uvloop
asked = socket.getaddrinfo
def getaddrinfo(host, *rest, **more):
    name = host.decode() if isinstance(host, bytes) else host
    if name and name.endswith(".{NAMESPACE}.svc"):
        host = address_of(name)
    return asked(host, *rest, **more)
def address_of(name):
    return "127.0.1.1" + name.partition(".")[0].rpartition("-")[2]
socket.getaddrinfo = getaddrinfo
class Loop(uvloop.Loop):  # which asks libc by itself otherwise
    async def getaddrinfo(self, *asked, **more):
        return await self.run_in_executor(None, lambda: socket.getaddrinfo(*asked, **more))
uvloop.new_event_loop = Loop
"""
USERS = [f"user-{number}" for number in range(8)]


def address(pod: str) -> str:
    """Return the address of a pod."""
    return f"127.0.1.1{pod.rpartition('-')[2]}"


class Cluster:
    """The folder that stands for a cluster: its Secrets, and a disk for each pod."""

    def __init__(self, root: Path, manifests: list[dict[str, Any]]) -> None:
        """Take the manifests, and write the Secret that is among them."""
        self.root, self.manifests = root, manifests
        (root / "site").mkdir()
        (root / "site" / "sitecustomize.py").write_text(RESOLVER, "utf-8")
        for secret in of_kind(manifests, "Secret"):
            self.secret(secret["metadata"]["name"], {n: b64decode(v) for n, v in secret["data"].items()})

    def secret(self, name: str, files: dict[str, bytes]) -> None:
        """Write a Secret's files, as its user may read them."""
        folder = self.root / "secrets" / name
        folder.mkdir(parents=True)
        for file, content in files.items():
            (folder / file).write_bytes(content)
            (folder / file).chmod(0o400)

    def command(self, pod: dict[str, Any], name: str) -> tuple[list[str], dict[str, str]]:
        """Return the command and the environment of a pod's container, its paths below the folder."""
        disk = self.root / name
        (disk / "data").mkdir(parents=True, exist_ok=True)
        (container,) = pod["containers"]
        places = {"/data": str(disk / "data")}
        for mount in container["volumeMounts"]:
            volume: dict[str, Any] = next((one for one in pod["volumes"] if one["name"] == mount["name"]), {})
            if "secret" in volume:
                places[mount["mountPath"]] = str(self.root / "secrets" / volume["secret"]["secretName"])
        variables = {}
        for variable, value in environment(pod).items():
            text = name if value is None else value.replace("$(POD_NAME)", name)
            for there, here in places.items():
                text = re.sub(rf"^{there}(?=/|$)", here, text)
            variables[variable] = text
        if "MNEMOLOG_HOST" in variables:
            assert variables["MNEMOLOG_HOST"] == "0.0.0.0"  # noqa: S104 - of the pod
            variables["MNEMOLOG_HOST"] = address(name)
        kept = {n: v for n, v in without_settings().items() if not n.startswith("MNEMOLOG_")}
        return (
            [sys.executable, "-m", "mnemolog", *container["args"]],
            kept | variables | {"PYTHONPATH": str(self.root / "site")},
        )

    @contextmanager
    def running(self, name: str) -> Iterator[None]:
        """Run a worker's pod until it is ready, as its probe asks."""
        (workers,) = of_kind(self.manifests, "StatefulSet")
        pod = workers["spec"]["template"]["spec"]
        command, variables = self.command(pod, name)
        output = self.root / f"{name}.txt"
        probe = pod["containers"][0]["startupProbe"]["httpGet"]
        url = f"{probe['scheme'].lower()}://{address(name)}:{PORT}{probe['path']}"
        with (
            output.open("wb") as said,
            subprocess.Popen(command, env=variables, stdout=said, stderr=said, cwd=self.root) as process,  # noqa: S603
        ):
            try:
                deadline = time.monotonic() + START_S
                while not answers(url):
                    assert process.poll() is None, output.read_text("utf-8")
                    assert time.monotonic() < deadline, output.read_text("utf-8")
                    time.sleep(0.2)
                yield
                process.terminate()
                assert process.wait(START_S) == 0, output.read_text("utf-8")
            finally:
                process.kill()


def asked(client: httpx.Client, path: str, body: dict[str, str]) -> httpx.Response:
    """Return what a caller gets who comes back when he is told to: partitions may still move to the second pod."""
    deadline = time.monotonic() + START_S
    while True:
        answer = client.post(path, json=body, extensions={"sni_hostname": SERVICE})
        if answer.status_code != 503 or time.monotonic() > deadline:
            return answer
        time.sleep(0.2)


def answers(url: str) -> bool:
    """Return whether a probe succeeds; it checks no certificate, as Kubernetes does not."""
    try:
        return httpx.get(url, verify=False).is_success  # noqa: S501 - as above
    except httpx.TransportError:
        return False


def test_the_chart_starts_two_workers_that_trust_each_other_and_want_keys(
    own_kafka: str, weaviate: WeaviateServer, tmp_path: Path
):
    if not fetch_tools.HELM.is_file():
        pytest.fail(f"helm is not in {fetch_tools.HELM.parent}: run `make engines`")
    where = WeaviateAddress.parse(weaviate.url)
    values = MINIMAL | {
        "kafka": {"brokers": [own_kafka]},
        "weaviate": {"address": f"{where.host}:{where.http}", "grpcPort": where.grpc},
        "service": {"port": PORT},
        "cluster": {"port": WORKERS_PORT},
        "partitions": 4,
        "tls": {"elsewhere": False, "existingSecret": "certificate"},
        "settings": {"IDLE_SECONDS": 1, "EXTRACTOR": "rules"},
        "topics": {"replicationFactor": 1},
    }
    cluster = Cluster(tmp_path, rendered(str(fetch_tools.HELM), values))
    authority = Authority(tmp_path / "authority")
    names = f"DNS:*.demo-mnemolog-workers.{NAMESPACE}.svc,DNS:{SERVICE}"
    made = authority.issue("workers", names)
    files = {"tls.crt": made.certificate, "tls.key": made.key, "ca.crt": authority.certificate}
    cluster.secret("certificate", {name: path.read_bytes() for name, path in files.items()})
    key = api_key(tmp_path)
    cluster.secret("callers", {"api-keys": (tmp_path / "keys.json").read_bytes()})

    (job,) = of_kind(cluster.manifests, "Job")
    command, variables = cluster.command(job["spec"]["template"]["spec"], "topics")
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=START_S)  # noqa: S603
    assert done.returncode == 0, done.stderr

    context = ssl.create_default_context(cafile=str(authority.certificate))
    with ExitStack() as stack:
        for pod in PODS:
            stack.enter_context(cluster.running(pod))
        first, second = (
            stack.enter_context(
                httpx.Client(base_url=f"https://{address(pod)}:{PORT}", verify=context, timeout=START_S)
            )
            for pod in PODS
        )
        for client in (first, second):
            client.headers["Host"] = f"{SERVICE}:{PORT}"
        by_name: Any = {"extensions": {"sni_hostname": SERVICE}}
        assert first.get("/v1/memories", params={"user_id": USERS[0]}, **by_name).status_code == 401
        for client in (first, second):
            client.headers["Authorization"] = f"Bearer {key}"
        for user in USERS:
            answer = asked(first, "/v1/memories", {"user_id": user, "content": f"{user} likes tea"})
            assert answer.status_code == 201, answer.text
        for user in USERS:
            for client in (first, second):
                found = asked(client, "/v1/search", {"user_id": user, "query": "tea"})
                assert [one["memory"] for one in found.json()["results"]] == [f"{user} likes tea"], found.text
        held = [(tmp_path / pod / "data" / "shards").glob("*/*.sqlite") for pod in PODS]
        assert all(list(shards) for shards in held), "both workers have users"
        # a caller's key opens nothing at the port of workers
        inner = first.post(
            f"https://{address(PODS[0])}:{WORKERS_PORT}/v1/internal/ticks",
            json={},
            headers={"Host": f"{SERVICE}:{WORKERS_PORT}"},
            **by_name,
        )
        assert inner.status_code in (401, 403), inner.text


def api_key(folder: Path) -> str:
    """Make a key that reads and writes, in a file of keys."""
    command = [sys.executable, "-m", "mnemolog", "keys", "create", "--tenant", "acme", "--json"]
    variables = without_settings(MNEMOLOG_API_KEYS_FILE=str(folder / "keys.json"))
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    key: str = json.loads(done.stdout)["key"]
    return key
