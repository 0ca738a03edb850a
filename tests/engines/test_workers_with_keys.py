"""Two workers with API keys and TLS on one Kafka: they know each other by proof, and nobody else by anything less."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import httpx
import orjson
import pytest
import pytest_asyncio
from cryptography import x509
from engines.several import SOON_SECONDS, a_kafka
from faults.cluster.worker_process import FORKED_UP, WorkerProcess
from support.certificates import Authority
from support.free_ports import free_ports
from support.master_key import MASTER_KEY

from mnemolog.access.key import new_key
from mnemolog.access.key_file import edited_keys
from mnemolog.access.principal import Role
from mnemolog.access.statement import write_statement
from mnemolog.cluster.proof import PROOF, Covered, Proof, signed_headers
from mnemolog.cluster.trust import FORWARDED, STATED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("kafka_jars")]
SECRET = "0123456789abcdef" * 4
USERS = [f"u{number}" for number in range(8)]
TICK = {"as_of": "2099-01-01T00:00:00Z", "policy": "retention"}


class Group:
    """The workers, the URLs where they reach each other, and a client for each key."""

    def __init__(
        self, workers: list[WorkerProcess], inner: list[str], keys: dict[str, str], authority: Authority
    ) -> None:
        self.workers, self.inner, self.keys, self.authority = workers, inner, keys, authority
        self.folder = authority.certificate.parent
        self.context = ssl.create_default_context(cafile=authority.certificate)
        self.shown = ssl.create_default_context(cafile=authority.certificate)
        """With a worker's own certificate."""
        self.shown.load_cert_chain(self.folder / "worker-0.pem", self.folder / "worker-0-key.pem")
        self.http = httpx.AsyncClient(verify=self.context, timeout=SOON_SECONDS, trust_env=False)

    async def ask(
        self, number: int, method: str, path: str, body: object = None, key: str = "acme", **more: str
    ) -> httpx.Response:
        """Ask one worker by a key; 503 is asked again, as a caller would."""
        headers = {"Authorization": f"Bearer {self.keys[key]}"} | more
        async with asyncio.timeout(SOON_SECONDS):
            while True:
                answer = await self.http.request(method, self.workers[number].url + path, json=body, headers=headers)
                if answer.status_code != HTTPStatus.SERVICE_UNAVAILABLE:
                    return answer
                await asyncio.sleep(0.3)

    async def found(self, number: int, user: str, key: str = "acme") -> list[str]:
        asked = {"user_id": user, "query": "Where does she live?", "include": ["memories"], "recall": False}
        answer = await self.ask(number, "POST", "/v1/search", asked, key)
        assert answer.status_code == HTTPStatus.OK, answer.text
        return [one["memory"] for one in answer.json()["results"]]

    async def as_worker(self, number: int, path: str, body: object, stated: str = "", **more: Any) -> httpx.Response:
        """Ask one worker as the other one does."""
        content, sender = orjson.dumps(body), self.inner[1 - number]
        given = {"content-type": "application/json", "accept": "*/*"}
        covered = Covered("POST", path, self.inner[number], sender, stated, signed_headers(httpx.Headers(given).raw))
        headers = {FORWARDED: sender, PROOF: Proof([SECRET.encode()]).sign(covered, content)}
        headers |= {STATED: stated} if stated else {}
        async with httpx.AsyncClient(verify=self.shown, timeout=SOON_SECONDS, trust_env=False) as http:
            request = {"content": content, "headers": {**given, **headers}} | more
            return await http.post(self.inner[number] + path, **request)

    async def shared(self) -> None:
        """Wait until each worker holds some of the partitions."""
        async with asyncio.timeout(SOON_SECONDS):
            while not all([await self._held(number) in range(1, 8) for number in (0, 1)]):  # noqa: ASYNC110
                await asyncio.sleep(0.3)

    async def _held(self, number: int) -> int:
        answer = await self.as_worker(number, "/v1/internal/generations", {})
        return len(answer.json()["partitions"]) if answer.is_success else 0


def make_keys(file: Path) -> dict[str, str]:
    """Make a key for each of two tenants, and one for the operator."""
    roles = {"acme": [Role.READ, Role.WRITE], "other": [Role.READ, Role.WRITE], "operator": list(Role)}
    found = {}
    with edited_keys(file) as keys:
        for name, its in roles.items():
            key, text = new_key(tenant=name, roles=its, now=datetime.now(UTC))
            keys[key.key_id], found[name] = key, text
    return found


@asynccontextmanager
async def running(folder: Path, proof: dict[str, str]) -> AsyncIterator[Group]:
    """Run a Kafka and two workers."""
    authority = Authority(folder)
    (folder / "secret").write_text(f"{SECRET}\n")
    keys = make_keys(folder / "keys.json")
    shared = {
        "INDEX": "embedded",
        "EXTRACTOR": "verbatim",
        "DECAY_POLICY": "off",
        "SESSION_SECONDS": "6",
        "API_KEYS_FILE": str(folder / "keys.json"),
        "CA_FILE": str(authority.certificate),
    }
    shared |= {name: str(folder / value) for name, value in proof.items()}
    with a_kafka(folder / "kafka") as address:
        ports = free_ports(4)
        workers, inner = [], []
        for number, (port, inner_port) in enumerate(zip(ports[:2], ports[2:], strict=True)):
            certificate, key = authority.issue(f"worker-{number}")
            own = {"ADVERTISED_URL": f"https://127.0.0.1:{port}", "INTERNAL_PORT": str(inner_port)}
            own |= {
                "MASTER_KEY": MASTER_KEY,
                "BROKER": f"kafka://{address}",
                "TLS_CERT_FILE": str(certificate),
                "TLS_KEY_FILE": str(key),
            }
            workers.append(WorkerProcess(folder / str(number), port, shared | own, FORKED_UP))
            inner.append(f"https://127.0.0.1:{inner_port}")
        group = Group(workers, inner, keys, authority)
        try:
            workers[0].start()
            await workers[0].ready()  # it makes the topics
            workers[1].start()
            await workers[1].ready()
            yield group
        finally:
            await group.http.aclose()
            for worker in workers:
                worker.kill()


@pytest_asyncio.fixture(
    scope="module",
    loop_scope="module",
    params=[{"CLUSTER_SECRET_FILE": "secret"}, {"TLS_CLIENT_CA_FILE": "ca.pem"}],
    ids=["secret", "certificates"],
)
async def group(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Group]:
    async with running(tmp_path_factory.mktemp("keys"), request.param) as opened:
        await opened.shared()
        await remember_all(opened)
        yield opened


async def remember_all(group: Group) -> None:
    """Tell either worker about users of both."""
    for place, user in enumerate(USERS):
        told = {"user_id": user, "content": f"{user} lives in Bern"}
        answer = await group.ask(place % 2, "POST", "/v1/memories", told)
        assert answer.status_code == HTTPStatus.CREATED, answer.text


async def test_either_worker_answers_for_all_users_of_the_key_s_tenant_and_for_no_others(group: Group):
    for user in USERS:
        assert await group.found(0, user) == await group.found(1, user) == [f"{user} lives in Bern"]
        assert await group.found(0, user, "other") == await group.found(1, user, "other") == []


async def test_an_operation_on_all_partitions_is_done_by_both(group: Group):
    drained = await group.ask(0, "POST", "/v1/admin/drain", {"timeout": 30}, "operator")
    assert drained.status_code == HTTPStatus.OK, drained.text
    digests = [await group.ask(number, "GET", "/v1/admin/digest", key="operator") for number in (0, 1)]
    assert digests[0].json() == digests[1].json()


async def test_nobody_reaches_the_routes_of_workers_by_the_port_for_everybody(group: Group):
    for key in ("acme", "operator"):
        named = {FORWARDED: group.inner[1], STATED: "e30=", PROOF: "1;1;1;1;1"}
        answer = await group.ask(0, "POST", "/v1/internal/generations", {}, key, **named)
        assert (answer.status_code, "other workers" in answer.json()["detail"]) == (HTTPStatus.NOT_FOUND, True)


async def test_a_name_of_a_worker_keeps_nothing_from_being_sent_on(group: Group):
    for number, user in ((number, user) for number in (0, 1) for user in USERS):
        answer = await group.ask(number, "GET", f"/v1/memories?user_id={user}", **{FORWARDED: group.inner[1 - number]})
        assert (answer.status_code, f"{user} lives in Bern" in answer.text) == (HTTPStatus.OK, True)


async def test_a_key_opens_nothing_at_the_port_for_workers(group: Group):
    headers = {"Authorization": f"Bearer {group.keys['operator']}", FORWARDED: group.inner[1]}
    for path in ("/v1/internal/generations", "/v1/admin/digest", "/health/live"):
        with_key = group.http.post(f"{group.inner[0]}{path}", json={}, headers=headers)
        try:
            answer = await with_key
        except httpx.TransportError:
            assert "TLS_CLIENT_CA_FILE" in proof_of(group)
        else:
            assert (answer.status_code, proof_of(group)) == (HTTPStatus.UNAUTHORIZED, {"CLUSTER_SECRET_FILE"})


def proof_of(group: Group) -> set[str]:
    """Return the settings by which the workers know each other."""
    return {name for name in ("CLUSTER_SECRET_FILE", "TLS_CLIENT_CA_FILE") if group.workers[0].has_setting(name)}


async def test_what_is_proven_is_answered_once_and_for_its_principal(group: Group):
    """As another worker asks, and as somebody who has recorded that."""
    stated = write_statement(principal(group), datetime.now(UTC).timestamp())
    first = await group.as_worker(0, "/v1/internal/ticks", TICK, stated)
    assert (first.status_code, "ahead of the clock" in first.text) == (HTTPStatus.UNPROCESSABLE_ENTITY, True)
    if "CLUSTER_SECRET_FILE" in proof_of(group):
        again = await group.as_worker(0, "/v1/internal/ticks", TICK, headers=dict(first.request.headers))
        assert (again.status_code, "came before" in again.text) == (HTTPStatus.UNAUTHORIZED, True)
        changed = await group.as_worker(0, "/v1/internal/ticks", TICK, content=orjson.dumps(TICK | {"force": True}))
        assert (changed.status_code, "its body was changed" in changed.text) == (HTTPStatus.UNAUTHORIZED, True)
    theirs = {"tenant": "other", "now": "2026-01-01T00:00:00Z"}
    answer = await group.as_worker(0, "/v1/internal/tenant/counts", theirs, stated)
    assert (answer.status_code, "another tenant" in answer.text) == (HTTPStatus.FORBIDDEN, True)
    unnamed = await group.as_worker(0, "/v1/admin/drain", {})
    assert (unnamed.status_code, "states no principal" in unnamed.text) == (HTTPStatus.UNAUTHORIZED, True)


def principal(group: Group) -> Any:
    """Return the principal of the first key."""
    with edited_keys(group.folder / "keys.json") as keys:
        return next(key.principal for key in keys.values() if key.tenant == "acme")


async def test_a_renewed_certificate_is_shown_and_the_workers_go_on_knowing_each_other(group: Group):
    def number_in(file: str) -> int:
        return x509.load_pem_x509_certificate((group.folder / file).read_bytes()).serial_number

    before = number_in("worker-1.pem")
    group.authority.issue("worker-1")
    async with asyncio.timeout(SOON_SECONDS):
        while await shown_by(group, 1) != number_in("worker-1.pem"):  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(0.3)
    assert number_in("worker-1.pem") != before
    for user in USERS:
        assert await group.found(0, user) == await group.found(1, user) == [f"{user} lives in Bern"]


async def shown_by(group: Group, number: int) -> int:
    """Return the serial number of the certificate that a worker shows to who connects now."""
    port = int(group.workers[number].url.rpartition(":")[2])
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=group.context)
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return x509.load_der_x509_certificate(shown).serial_number


async def test_both_stop_at_a_signal_and_have_told_no_key_and_no_secret(group: Group):
    for worker in group.workers:
        assert await worker.terminate() == 0
        said = worker.said_in_this_life()
        for secret in (SECRET, *group.keys.values()):
            assert secret not in said
