"""Decisions are deleted, changed, exchanged, repeated and forged in the ledger of a cluster that serves.

On Kafka no record can be edited where it lies. What a cluster can meet instead:

* records of a producer that repeats itself, or of an installation that has the same keys and has gone on from an older
  copy: they are appended while everything serves;
* a topic that was copied by a tool, or by hand, that has lost, changed or exchanged records, and that stands in place
  of the former one;
* a topic that was given a time after which records are deleted: those at the beginning of a partition are gone.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections import defaultdict
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import httpx
from faults.cluster.cluster import RECOVERY_SECONDS
from faults.cluster.ledger_topic import LedgerTopic

from projections.shard.rows.damage import PARTITION
from schemas import codec
from schemas.identity import Owner
from schemas.log import NewRecord
from schemas.messages.chain import hash_of
from schemas.messages.decision import Decision
from schemas.topics import LEDGER, partition_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence

    from faults.cluster.cluster import Cluster

    from schemas.log import Record

PARTITIONS: Final = 8
FACTS: Final = (
    "keeps a quokka named Pim",
    "plays the cello on Mondays",
    "was born in Turku",
    "collects stamps from Peru",
    "is allergic to hazelnuts",
)
"""Commands of each user, each a decision; none is nearly the same as another."""
LATER: Final = "paints harbours in winter"
OF_A_KIND, SHORT_OF_A_KIND = 4, 1
"""Users whose decisions are edited in the same way."""
AT_ONCE: Final = 8
PAUSE_SECONDS: Final = 0.1
QUIET_SECONDS: Final = 1.0
FORGED: Final = "forged"
ADVICE: Final = "restore the log from a copy, then start again"
ADVICE_FOR_USER: Final = "without a copy, erase the user"


def _deleted(own: Sequence[int], lying: list[Record | None], _other: int) -> None:
    lying[own[2]] = None


def _changed(own: Sequence[int], lying: list[Record | None], _other: int) -> None:
    record = lying[own[2]]
    assert record is not None
    value = bytearray(record.value)
    value[-20] ^= 1
    lying[own[2]] = replace(record, value=bytes(value))


def _exchanged(own: Sequence[int], lying: list[Record | None], _other: int) -> None:
    lying[own[1]], lying[own[2]] = lying[own[2]], lying[own[1]]


def _older_again(own: Sequence[int], lying: list[Record | None], _other: int) -> None:
    lying[own[3]] = lying[own[0]]


def _of_another_user(own: Sequence[int], lying: list[Record | None], other: int) -> None:
    lying[own[2]] = lying[other]


EDITS: Final[dict[str, Callable[[Sequence[int], list[Record | None], int], None]]] = {
    "deleted": _deleted,
    "changed": _changed,
    "exchanged": _exchanged,
    "older-again": _older_again,
    "of-another": _of_another_user,
}
"""Each takes the offsets of a user's decisions, all records of the partition, and the offset of another's decision."""


async def edit_the_ledger(cluster: Cluster) -> None:
    """Edit the decisions of some users in each way, and see that only they are refused, until all is mended.

    Some are erased, which heals them; for the others the topic is put back as it was.
    """
    cluster.publisher.share = 0.3
    async with httpx.AsyncClient(timeout=20) as http:
        people = People(cluster, http)
        await people.speak()
        async with people.watched():
            await _append_to_it(cluster, people)
            await _replace_it(cluster, people)
    damaged = (1 + len(EDITS)) * people.of_a_kind
    cluster.notes.append(
        f"{damaged} users' decisions edited, who were refused {people.refused:,} times and shown nothing; "
        f"{people.answers:,} answers about all users right meanwhile"
    )


async def _append_to_it(cluster: Cluster, people: People) -> None:
    """Repeat decisions, which changes nothing, and forge some while everything serves; erase the users of those."""
    topic = LedgerTopic(cluster.brokers.addresses)
    lying, places = await topic.read(), await people.places()
    whole = [lying[place][offset] for user in people.witnesses for place, offset in places[user]]
    await topic.append_as_they_lie(whole)
    forged = people.of(FORGED)
    await topic.append_sealed([_forged(cluster, user, places[user]) for user in forged])
    for witness in people.beside(forged):
        await people.go_on(witness)  # whoever decides has folded what was appended
    cluster.publisher.share = 0.5
    await people.see(damaged=forged)
    await cluster.kill_one_of(cluster.workers)
    await people.see(damaged=forged)
    await people.say_so(len(forged))
    await asyncio.gather(*(people.erase(user) for user in forged))
    await people.see()


async def _replace_it(cluster: Cluster, people: People) -> None:
    """Put an edited copy of the topic in its place, cut a partition of that, and put back what there was."""
    topic = LedgerTopic(cluster.brokers.addresses)
    await quiet(cluster)
    kept, places = await topic.read(), await people.places()
    cluster.kill_workers()
    edited, kinds = _edited(kept, people, places), [user for kind in EDITS for user in people.of(kind)]
    await topic.replace(edited)
    await cluster.reading.forget(LEDGER.name)
    assert [len(records) for records in kept] != [len(records) for records in edited]
    _start(cluster)
    await people.see(is_sure=False)  # what was folded of the former topic is not of this one
    cluster.kill_workers()
    _remove_shards(cluster)
    _start(cluster)
    await people.see(damaged=kinds)
    await cluster.all_ready()
    await _verified(cluster, kinds)
    cluster.publisher.share = 0.8
    await cluster.kill_one_of(cluster.workers)
    await people.see(damaged=kinds)
    await people.say_so(len(kinds))
    erased = [user for number, user in enumerate(kinds) if number % 2]
    await asyncio.gather(*(people.erase(user) for user in erased))
    left = [user for user in kinds if user not in erased]
    await people.see(damaged=left)
    await quiet(cluster)
    since = [records[len(before) :] for before, records in zip(edited, await topic.read(), strict=True)]
    cluster.kill_workers()
    cut = people.partition(people.witnesses[0])
    await topic.cut(cut, 2)
    _remove_shards(cluster)
    _start(cluster)
    await people.see(damaged=left, hidden={cut})
    cluster.kill_workers()
    await topic.replace([[*before, *after] for before, after in zip(kept, since, strict=True)])
    await cluster.reading.forget(LEDGER.name)
    _remove_shards(cluster)
    began = time.monotonic()
    _start(cluster)
    await people.see()
    cluster.publisher.share = 1.0
    await cluster.recovered(began)


def _forged(cluster: Cluster, user: str, places: Sequence[tuple[int, int]]) -> NewRecord:
    """Return a decision about a user that was made after another one than the last of this log."""
    partition, offset = places[-1]
    last = codec.decode_as(cluster.reading.records[LEDGER.name, partition][offset].value, Decision)
    other = replace(
        last,
        item_id=f"{FORGED}-{user}",
        item_offset=last.item_offset + 1,
        version=last.version + 1,
        outcomes=[],
        events=[],
        previous=hash_of(b"what an older copy had"),
    )
    key = Owner("default", user).key
    return NewRecord(topic=LEDGER.name, partition=partition, key=key, value=codec.encode(other))


def _edited(
    kept: Sequence[Sequence[Record]], people: People, places: dict[str, list[tuple[int, int]]]
) -> list[list[Record]]:
    edited = [list["Record | None"](records) for records in kept]
    for kind, edit in EDITS.items():
        for user in people.of(kind):
            [partition] = {partition for partition, _ in places[user]}
            other = next(places[one][0][1] for one in people.witnesses if people.partition(one) == partition)
            edit([offset for _, offset in places[user]], edited[partition], other)
    return [[record for record in records if record is not None] for records in edited]


async def quiet(cluster: Cluster) -> None:
    """Let no session begin for now, and wait until all that was published is remembered."""
    cluster.publisher.share = 0.0
    known = -1
    while known != (known := len(cluster.publisher.acknowledged)):  # noqa: ASYNC110 - sessions come to their end
        await asyncio.sleep(QUIET_SECONDS)
    await cluster.remembered()
    await cluster.ask("POST", "/v1/admin/drain", {"timeout": RECOVERY_SECONDS / 2})


def _start(cluster: Cluster) -> None:
    for worker in cluster.workers:
        worker.start()


def _remove_shards(cluster: Cluster) -> None:
    """Remove what was folded, as the refusal of a partition says."""
    for worker in cluster.workers:
        shutil.rmtree(worker.folder / "data" / "shards")


async def _verified(cluster: Cluster, damaged: Collection[str]) -> None:
    """See that the command that verifies the log names these users, and nobody else."""
    process = await cluster.workers[0].command("verify", "--json")
    said, errors = await process.communicate()
    assert process.returncode == 1, errors.decode()
    found = json.loads(said)
    named = {one["user"] for one in found["damage"]} - {PARTITION}
    assert named == {f"default/{user}" for user in damaged}, found["damage"]


class People:
    """Users of whom some are damaged, and for each of them a witness in the same partition."""

    def __init__(self, cluster: Cluster, http: httpx.AsyncClient) -> None:
        """Have said nothing yet."""
        self.of_a_kind = SHORT_OF_A_KIND if cluster.workload.is_short else OF_A_KIND
        self.answers = 0
        self.refused = 0
        self._cluster = cluster
        self._http = http
        kinds = [f"{kind}-{number}" for kind in (*EDITS, FORGED) for number in range(self.of_a_kind)]
        beside = {self.partition(user) for user in kinds}
        names = [next(n for n in map("witness-{}".format, range(999)) if self.partition(n) == one) for one in beside]
        self.witnesses = sorted(names)
        self.known: dict[str, set[str]] = {user: set() for user in (*kinds, *names)}
        """What each user has."""
        self._damaged: set[str] = set()
        """Those who may not be answered any more."""
        self._changing: set[str] = set()
        """Those of whom something is being decided."""

    def of(self, kind: str) -> list[str]:
        """Return the users of a kind."""
        return [user for user in self.known if user.startswith(f"{kind}-")]

    @staticmethod
    def partition(user: str) -> int:
        """Return where a user's decisions are."""
        return partition_of(Owner("default", user).key, PARTITIONS)

    async def speak(self) -> None:
        """Have all remembered, one after the other of each."""

        async def of(users: Iterable[str]) -> None:
            for user in users:
                for fact in FACTS:
                    await self._remember(user, fact)

        waiting = iter(self.known)
        await asyncio.gather(*(of(waiting) for _ in range(AT_ONCE)))

    def beside(self, users: Iterable[str]) -> list[str]:
        """Return the witnesses in the partitions of some users."""
        partitions = {self.partition(user) for user in users}
        return [witness for witness in self.witnesses if self.partition(witness) in partitions]

    async def go_on(self, witness: str) -> None:
        """Have something more remembered of a witness."""
        await self._remember(witness, LATER)

    async def places(self) -> dict[str, list[tuple[int, int]]]:
        """Return the partition and the offset of each decision about each user."""
        await self._cluster.reading.look()
        found = defaultdict[str, list[tuple[int, int]]](list)
        for (topic, partition), records in self._cluster.reading.records.items():
            for offset, record in enumerate(records if topic == LEDGER.name else ()):
                assert record.position.offset == offset
                with suppress(codec.Undecodable):
                    found[codec.decode_as(record.value, Decision).envelope.user_id].append((partition, offset))
        return {user: found[user] for user in self.known}

    async def see(self, damaged: Collection[str] = (), hidden: Collection[int] = (), *, is_sure: bool = True) -> None:
        """Ask every worker about everybody until each is answered rightly or, if damaged or hidden, refused rightly.

        Where nobody can be sure, because it depends on which worker has folded what, each may be answered or refused: a
        worker with none but damaged partitions is not ready, and says so of the first. Raises AssertionError where a
        user who was refused for damage is answered, or anybody wrongly.
        """
        self._damaged &= set(damaged)
        for url in self._cluster.alive():
            for user in self.known:
                ledger = self._damage_of("the ledger", user)
                own = [*self._damage_of(f"the history of default/{user}", user), ADVICE_FOR_USER]
                wanted: list[list[str] | None] = [None]
                if not is_sure:
                    wanted = [None, [f"the ledger is damaged at {LEDGER.name}:", ADVICE], own]
                elif self.partition(user) in hidden:
                    wanted = [ledger]
                elif user in damaged:
                    wanted = [own]
                await self._see(url, user, wanted)
                if wanted == [own]:
                    await self._refused_otherwise(url, user, own)
        self._damaged.update(damaged)

    def _damage_of(self, what: str, user: str) -> list[str]:
        return [f"{what} is damaged at {LEDGER.name}:{self.partition(user)}:", ADVICE]

    async def _see(self, url: str, user: str, wanted: Sequence[list[str] | None]) -> None:
        """Ask about a user until the answer is one of those wanted; None: what the user has."""
        deadline, refusal = time.monotonic() + RECOVERY_SECONDS, None
        while time.monotonic() < deadline:
            refusal = await self._refusal(url, user)
            for one in wanted:
                if one is None or refusal is None:
                    is_so = one is None and refusal is None
                else:
                    is_so = all(words in refusal for words in one)
                if is_so:
                    return
            await asyncio.sleep(PAUSE_SECONDS)
        raise AssertionError(f"{user}: {wanted} is expected of {url}: {refusal or 'it is answered'}")

    async def _refused_otherwise(self, url: str, user: str, wanted: Sequence[str]) -> None:
        """Ask about a damaged user in other ways, and give a command. Raises AssertionError."""
        search = {"user_id": user, "query": min(self.known[user]), "limit": 9, "recall": False}
        for method, path, body in (
            ("POST", "/v1/search", search),
            ("POST", "/v1/memories", {"user_id": user, "content": "It is of no use."}),
            ("GET", f"/v1/memories?user_id={user}&as_of=2026-01-01T00:00:00Z", None),
        ):
            answer = await self._http.request(method, url + path, json=body)
            assert answer.status_code == 503, f"{user}, {path}: {answer.text}"
            detail = answer.json()["detail"]
            assert all(words in detail for words in wanted) or "moving" in detail, f"{user}, {path}: {detail}"

    async def _refusal(self, url: str, user: str) -> str | None:
        """List what a user has; return why that is refused, None where it was answered rightly."""
        known, is_settled = self.known[user], user not in self._changing
        try:
            answer = await self._http.get(f"{url}/v1/memories?user_id={user}&page_size=200")
        except httpx.TransportError as error:
            return repr(error)
        if answer.status_code == 503:
            self.refused += "is damaged" in answer.text
            return str(answer.json()["detail"])
        assert answer.is_success, f"{user}: {answer.text}"
        if is_settled and user not in self._changing and known is self.known[user]:
            assert user not in self._damaged, f"{user} is damaged, and answered: {answer.text}"
            found = {one["content"] for one in answer.json()["items"]}
            assert found == known, f"{user}: {sorted(found)}"
            self.answers += 1
        return None

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Ask any worker about anybody while entered. Raises AssertionError for a wrong answer."""

        async def run() -> None:
            while True:
                user = self._cluster.pick.choice(list(self.known))
                if urls := self._cluster.alive():
                    await self._refusal(self._cluster.pick.choice(urls), user)
                await asyncio.sleep(PAUSE_SECONDS)

        running = asyncio.create_task(run())
        try:
            yield
            if running.done():
                running.result()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def say_so(self, number: int) -> None:
        """See that the metrics count the damaged users, and that a check names one and what to do."""
        deadline = time.monotonic() + RECOVERY_SECONDS
        while (counted := await self._counted()) != number:
            assert time.monotonic() < deadline, f"{counted} histories are damaged, and not {number}"
            await asyncio.sleep(1)
        told = [await self._ledger_checks(url) for url in self._cluster.alive()]
        assert any("is damaged at" in one["detail"] and ADVICE in one["advice"] for all_ in told for one in all_), told
        assert await self._cluster.try_once("GET", "/v1/admin/digest") == 503

    async def _counted(self) -> int:
        counted = 0.0
        for url in self._cluster.alive():
            lines = (await self._http.get(f"{url}/metrics")).text.splitlines()
            counted += sum(float(line.split()[1]) for line in lines if line.startswith("mnemolog_damaged_histories "))
        return int(counted)

    async def _ledger_checks(self, url: str) -> list[dict[str, Any]]:
        checks = (await self._http.get(f"{url}/v1/admin/checks")).json()["checks"]
        return [one for one in checks if one["name"] == "ledger" and not one["ok"]]

    async def erase(self, user: str) -> None:
        """Erase a damaged user, who then begins anew."""
        self._changing.add(user)
        self._damaged.discard(user)
        await self._asked(user, "DELETE", f"/v1/users/{user}", None)
        self.known[user] = set()
        await self._remember(user, LATER)

    async def _remember(self, user: str, fact: str) -> None:
        words = f"Guest {list(self.known).index(user)} {fact}"
        self._changing.add(user)
        await self._asked(user, "POST", "/v1/memories", {"user_id": user, "content": words})
        self.known[user] = self.known[user] | {words}
        self._changing.discard(user)

    async def _asked(self, user: str, method: str, path: str, body: object) -> None:
        """Ask until it is done; a repeat has the same key. Raises AssertionError."""
        deadline, last = time.monotonic() + RECOVERY_SECONDS, ""
        headers = {"Idempotency-Key": f"{method} {path} {json.dumps(body)}"}
        while time.monotonic() < deadline:
            with suppress(httpx.TransportError):
                url = self._cluster.pick.choice(self._cluster.alive())
                answer = await self._http.request(method, url + path, json=body, headers=headers, timeout=120)
                if answer.status_code in (200, 201):
                    return
                last = f"{answer.status_code}: {answer.text}"
                assert answer.status_code in (202, 503) or (method == "DELETE" and answer.status_code == 409), last
            await asyncio.sleep(PAUSE_SECONDS)
        raise AssertionError(f"{user}: {method} {path} is not done: {last}")
