"""No key, password or user's word leaves by a log, an error, a metric or a repr, whatever goes wrong."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from contract.scripted_model import ScriptedModel
from support import forked_program
from support.free_ports import free_ports
from support.mnemolog_up import TIMEOUT_SECONDS, environment

from mnemolog.log.connection import create_topics, opened_log
from mnemolog.settings import from_environment
from schemas.log import NewRecord
from schemas.topics import CONVERSATIONS, INBOX

if TYPE_CHECKING:
    from pathlib import Path

WORDS = "quokkaquandary"
"""In everything that users say and ask."""
SECRETS = {
    "MNEMOLOG_LLM_API_KEY": "sk-canary-of-the-model",
    "MNEMOLOG_EMBEDDING_API_KEY": "sk-canary-of-the-embedder",
}
PASSWORD = "canary-s3cr3t"  # noqa: S105 - nobody's
ROLES = "read,write,tenant-admin,operator,metrics"


def turn(number: int, **more: Any) -> dict[str, Any]:
    """Return a turn with the words."""
    said = f"My {WORDS} number {number} is ill, I live in {WORDS}, call 555{number}."
    return {"type": "TurnRecorded", "user_id": "u1", "session_id": "s1", "role": "user", "content": said} | more


def run(variables: dict[str, str], *command: str) -> tuple[int, str, str]:
    """Run a command with variables; return its exit code, what it printed and what it said."""
    done = forked_program.mnemolog(*command, environment=environment(**variables), timeout=TIMEOUT_SECONDS)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def made(variables: dict[str, str], roles: str) -> str:
    """Make an API key and return it."""
    code, printed, said = run(variables, "keys", "create", "--tenant", "default", "--role", roles, "--json")
    assert code == 0, said
    key: str = json.loads(printed)["key"]
    return key


async def spoil(folder: Path) -> None:
    """Put records into the log that nobody can read."""
    settings = from_environment({"MNEMOLOG_PARTITIONS": "2"}, data_dir=folder)
    async with opened_log(settings) as log:
        await create_topics(log, settings)
        for topic, value in (
            (CONVERSATIONS.name, WORDS.encode()),
            (CONVERSATIONS.name, json.dumps(turn(1) | {"role": {"no": WORDS}, "occurred_at": WORDS}).encode()),
            (INBOX.name, WORDS.encode()),
        ):
            for partition in range(2):
                record = NewRecord(topic=topic, partition=partition, key=b"default/u1", value=value)
                await log.append([record])


def hostile(client: httpx.Client) -> list[httpx.Response]:
    """Send what is refused, with the words as values; the answers go to whoever sent them, who has the words."""
    wrong = [
        ("POST", "/v1/events", turn(2, occurred_at=WORDS)),
        ("POST", "/v1/events", turn(2, role={"a": WORDS})),
        ("POST", "/v1/memories", {"content": WORDS, "importance": WORDS}),
        ("POST", "/v1/memories", {"content": WORDS, "attribute": "birthday", "value": WORDS}),
        ("POST", "/v1/search", {"query": WORDS, "limit": WORDS}),
        ("POST", "/v1/import", {"no": WORDS}),
    ]
    answers = [client.request(method, path, json=body) for method, path, body in wrong]
    answers.append(client.post("/v1/events", content=WORDS.encode(), headers={"Content-Type": "application/json"}))
    answers.append(client.post("/v1/events", content=b"\xff" + WORDS.encode()))
    answers.append(client.get("/v1/memories", params={"user_id": "u1", "page": WORDS}))
    answers.append(client.get("/v1/search", headers={"Authorization": f"Bearer mnl_{PASSWORD}_x"}))
    return answers


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_run_tells_no_secret_and_no_word(tmp_path: Path, form: str):
    folder = tmp_path / "var"
    asyncio.run(spoil(folder))
    variables = {"MNEMOLOG_API_KEYS_FILE": str(tmp_path / "keys.json")}
    everything, operator = made(variables, ROLES), made(variables, "operator")
    port = free_ports(1)[0]
    with ScriptedModel() as model:
        variables |= SECRETS | {
            "MNEMOLOG_LLM_BASE_URL": model.base_url.replace("http://", f"http://bob:{PASSWORD}@"),
            "MNEMOLOG_SCHEMA_REGISTRY_URL": f"http://bob:{PASSWORD}@127.0.0.1:9/",
            "MNEMOLOG_EXTRACTOR": "model",
            "MNEMOLOG_LOG_LEVEL": "debug",
            "MNEMOLOG_LOG_FORMAT": form,
            "MNEMOLOG_PORT": str(port),
            "MNEMOLOG_DATA_DIR": str(folder),
        }
        told = [doctor(variables)]
        up = forked_program.Forked("up", environment=environment(**variables))
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
            try:
                client.headers["Authorization"] = f"Bearer {everything}"
                until_ready(client, up)
                model.play_error(400, {"message": f"I do not talk of {WORDS}", "code": WORDS, "param": WORDS})
                model.play_error(500, {"message": f"{WORDS} broke me"})
                model.play_body(json.dumps({"error": WORDS}).encode())
                model.play_body(WORDS.encode())
                model.play("prose", 2)
                for number in range(4):
                    events = [turn(number), {"type": "SessionEnded", "user_id": "u1", "session_id": "s1"}]
                    answer = client.post("/v1/events", json=events, params={"wait": "10"})
                    assert answer.status_code in (200, 202), answer.text
                assert any(WORDS in json.dumps(request) for request in model.requests), "the model saw the words"
                answer = client.post("/v1/memories", json={"user_id": "u1", "content": f"likes {WORDS}"})
                assert answer.status_code == 201, answer.text
                assert WORDS in client.post("/v1/search", json={"user_id": "u1", "query": WORDS}).text
                refused = hostile(client)
                assert {answer.status_code // 100 for answer in refused} == {4}
                told += [answer.text for answer in refused]
                told += [client.get(path).text for path in ("/metrics", "/v1/admin/checks", "/v1/admin/digest")]
                letters = client.get("/v1/admin/dead-letters").json()
                assert letters["total"] >= 6
                assert WORDS in json.dumps(letters), "a reader of the user sees the words"
                client.headers["Authorization"] = f"Bearer {operator}"
                shown = client.get("/v1/admin/dead-letters").json()
                assert {letter["encoding"] for letter in shown["items"]} == {"withheld"}
                told.append(json.dumps(shown))
                told.append(doctor(variables))
                up.send_signal(signal.SIGTERM)
                assert up.wait(TIMEOUT_SECONDS) == 0
            finally:
                up.kill()
    said_text = words_of(up)
    assert "answers" in said_text, "it logged"
    told.append(said_text)
    found = [
        (word, text)
        for text in told
        for word in (WORDS, PASSWORD, everything, operator, *SECRETS.values())
        if word in text
    ]
    assert found == []


def doctor(variables: dict[str, str]) -> str:
    """Return what the doctor says."""
    return "".join(run(variables, "doctor")[1:])


def words_of(up: forked_program.Forked) -> str:
    """Return everything that a worker has printed and said so far."""
    return "".join(part.decode() for part in up.told())


def until_ready(client: httpx.Client, up: forked_program.Forked) -> None:
    """Wait until the worker is ready."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        assert up.poll() is None, words_of(up)
        try:
            if client.get("/health/ready").is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError(words_of(up))


@pytest.mark.parametrize(
    "variables",
    [
        {"MNEMOLOG_BROKER": f"kafka://bob:{PASSWORD}@h:9092"},
        {"MNEMOLOG_INDEX": f"weaviate://bob:{PASSWORD}@h"},
        {"MNEMOLOG_ADVERTISED_URL": f"http://bob:{PASSWORD}@h"},
        {"MNEMOLOG_LLM_API_KEY": f"{PASSWORD}键"},
        {"MNEMOLOG_KAFKA_SASL_PASSWORD": PASSWORD},
        {"MNEMOLOG_CLUSTER_SECRET": PASSWORD},
        {"MNEMOLOG_ENCRYPTION": PASSWORD},
    ],
)
def test_a_setting_that_cannot_be_used_is_told_without_what_is_secret_of_it(tmp_path: Path, variables: dict[str, str]):
    for command in ("up", "doctor"):
        code, printed, said = run(variables | {"MNEMOLOG_DATA_DIR": str(tmp_path)}, command)
        told = printed + said
        assert code != 0
        assert next(iter(variables)).partition("_PASSWORD")[0] in told.replace("\n", "")
        assert "Traceback" not in told
        assert PASSWORD not in told
