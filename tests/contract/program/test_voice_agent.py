"""The voice agent of `examples/` against a `mnemolog up`, each in a process of its own, with lines on stdin."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from contract.scripted_model import ScriptedModel, completion
from support import forked_program
from support.free_ports import free_ports
from support.mnemolog_up import TIMEOUT_SECONDS, ForkedUp, Up, environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mnemolog import Client

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "voice_agent.py"
DEFAULT_GREETING = "Hello! I'm your AI assistant with memory."
AGENT = "voice_assistant_agent"


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, model: ScriptedModel) -> Iterator[Up]:
    """Give a worker that extracts by rules and greets by the model."""
    [port] = free_ports(1)
    up = ForkedUp(tmp_path_factory.mktemp("data"), port, OPENAI_BASE_URL=model.base_url)
    try:
        up.wait_until_ready()
        yield up
    finally:
        up.end(15)


def agent(server: Up, user: str, *options: str, **variables: str) -> subprocess.Popen[str]:
    """Start the agent for a user."""
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, str(EXAMPLE), "--url", server.url, "--user", user, *options],
        env=environment(**variables),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def talked(server: Up, user: str, said: str, *options: str, **variables: str) -> tuple[list[str], str]:
    """Let the agent hear all lines and the end; return what it said, and what it told the operator."""
    arguments = ("--url", server.url, "--user", user, *options)
    done = forked_program.mnemolog(
        *arguments,
        program=str(EXAMPLE),
        said=said.encode(),
        environment=environment(**variables),
        timeout=TIMEOUT_SECONDS,
    )
    warned = done.stderr.decode()
    assert done.returncode == 0, warned
    return done.stdout.decode().splitlines(), warned


def words_of_a_session(client: Client, user: str) -> list[tuple[str, str]]:
    """Return who said what in the session that a user's memories come from."""
    [session] = {memory["session_id"] for memory in client.memories(user)["items"]}
    return [(turn["role"], turn["content"]) for turn in client.turns(session, user, limit=50)["items"]]


def await_value(client: Client, user: str, attribute: str, value: str) -> None:
    """Wait until the profile has a value."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while client.profile(user, AGENT)[attribute] != value:
        assert time.monotonic() < deadline, attribute
        time.sleep(0.1)


def test_a_talk_is_remembered_and_the_next_one_knows_it(server: Up, model: ScriptedModel) -> None:
    said = ["我叫张三，喜欢喝咖啡", "I live in Berlin."]
    told, warned = talked(server, "zhang", "\n".join(said))
    assert (told, warned) == ([DEFAULT_GREETING, *said], ""), "a first visit: nothing is known, the echo repeats"
    server.client.drain(30)
    assert words_of_a_session(server.client, "zhang") == [
        ("assistant", DEFAULT_GREETING), *((role, line) for line in said for role in ("user", "assistant")),
    ]  # fmt: skip
    known = server.client.memories("zhang", agent_id=AGENT)["items"]
    assert {"用户叫张三", "用户喜欢喝咖啡", "User lives in Berlin"} == {memory["content"] for memory in known}

    model.play_body(completion("Welcome back!"))
    told, _ = talked(server, "zhang", "我喜欢喝什么？\n")
    assert told[:2] == [
        "Welcome back!",
        "Here's what I remember from our past conversations that might be relevant:",
    ]
    assert "- 用户喜欢喝咖啡" in told
    assert "Now the user is asking: 我喜欢喝什么？" in told
    server.client.drain(30)
    after = server.client.memories("zhang")["items"]
    assert {m["memory_id"] for m in after} == {m["memory_id"] for m in known}, "what was recalled is not said again"


def test_it_saves_after_so_many_rounds_and_when_nobody_speaks(server: Up) -> None:
    client = server.client
    with agent(server, "saver", "--save-every", "2", "--idle-seconds", "1") as talking:
        assert talking.stdin is not None
        assert talking.stdout is not None
        talking.stdin.write("My name is Ann.\nMy hobby is chess.\n")
        talking.stdin.flush()
        await_value(client, "saver", "user_name", "Ann")
        talking.stdin.write("I live in Berlin.\n")
        talking.stdin.flush()
        await_value(client, "saver", "city", "Berlin")
        assert talking.poll() is None, "it still listens"
        talking.stdin.close()
        talking.stdout.read()
        assert talking.wait(TIMEOUT_SECONDS) == 0
    client.drain(30)
    roles = [role for role, _ in words_of_a_session(client, "saver")]
    assert roles == ["assistant", *["user", "assistant"] * 3], "the whole context was sent again, and came once"
    counts = [(memory["access_count"], memory["recall_count"]) for memory in client.memories("saver")["items"]]
    assert [said_again for said_again, recalls in counts if said_again != recalls] == []


def test_a_returning_user_is_greeted_by_the_model_and_answered_by_it(server: Up, model: ScriptedModel) -> None:
    server.client.remember("用户喜欢爬香山", "returning", AGENT, attribute="likes", value="爬香山")
    model.play_body(completion("好久不见！香山爬得怎么样？"))
    model.play_body(completion("那就去百花山吧。"))
    told, _ = talked(server, "returning", "推荐一个周末活动，比如爬香山\n", OPENAI_BASE_URL=model.base_url)
    assert told == ["好久不见！香山爬得怎么样？", "那就去百花山吧。"]
    greeting, answer = model.requests[-2:]
    assert "爬香山" in greeting["messages"][0]["content"]
    assert [message["role"] for message in answer["messages"]] == ["system", "assistant", "user"]
    assert "Memorise:\n- 用户喜欢爬香山\n" in answer["messages"][-1]["content"]


def test_without_memorizing_nothing_is_looked_up_and_nothing_saved(server: Up, model: ScriptedModel) -> None:
    server.client.remember("用户叫李四", "private", AGENT, attribute="user_name", value="李四")
    asked = len(model.requests)
    told, _ = talked(server, "private", "我叫李四，喜欢喝茶\n", "--no-memorization")
    assert told == [DEFAULT_GREETING, "我叫李四，喜欢喝茶"]
    told, _ = talked(server, "private", "", "--no-user-memory", "--greeting", "Hi!")
    assert told == ["Hi!"]
    server.client.drain(30)
    assert server.client.memories("private")["total"] == 1
    assert len(model.requests) == asked


def test_without_memory_the_talk_goes_on(server: Up) -> None:
    told, warned = talked(server, "away", "Hello?\n", "--url", "http://127.0.0.1:9")
    assert told == [DEFAULT_GREETING, "Hello?"]
    for lost in ("greeting without memory: ", "answering without memory: ", "not saved yet: "):
        assert f"{lost}http://127.0.0.1:9 does not answer" in warned


def test_its_defaults_are_powermems() -> None:
    done = forked_program.mnemolog("--help", program=str(EXAMPLE), environment=environment())
    assert done.returncode == 0
    shown = re.sub(r"\s+", " ", done.stdout.decode())
    for default in ("user", AGENT, "5", "30.0", "True", json.dumps(DEFAULT_GREETING).strip('"')):
        assert f"(default: {default})" in shown
