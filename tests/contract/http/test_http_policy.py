"""Policies: set over HTTP, kept in the log, honoured by model and rules, in force from their position on."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
from contract.front_door import FrontDoor, front_door, turn
from contract.scripted_model import ScriptedModel

from schemas import codec
from schemas.identity import GLOBAL_USER, Owner
from schemas.log import NewRecord
from schemas.messages.envelope import Envelope, Sealed
from schemas.messages.inbox import CandidatesExtracted
from schemas.messages.policy import PolicySet
from schemas.topics import INBOX, POLICIES

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT: dict[str, Any] = {
    "policy_id": None,
    "version": 0,
    "agent_id": None,
    "set_at": None,
    "by": None,
    "instructions": "",
    "categories": {},
    "attributes": {},
    "never": [],
    "never_categories": [],
    "never_attributes": [],
    "tokens_per_user_day": None,
    "tokens_per_tenant_day": None,
    "when_refused": "reject",
    "redaction": {},
    "redaction_patterns": [],
}


async def set_policy(door: FrontDoor, agent_id: str | None = None, **policy: Any) -> dict[str, Any]:
    where = "/v1/policy" if agent_id is None else f"/v1/policy?agent_id={agent_id}"
    answer = await door.http.put(where, json=policy)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def say(door: FrontDoor, event_id: str, text: str, **more: Any) -> dict[str, Any]:
    """Publish a turn in a session of its own and return what became of it."""
    event = turn(event_id, text, session_id=event_id, **more)
    answer = await door.http.post("/v1/events?wait=60", json=event)
    assert answer.status_code == 200, answer.text
    owner = Owner("default", str(event["user_id"]))
    return (await door.worker.event_states.of(owner, [event_id]))[event_id]


async def marks(door: FrontDoor, event_id: str) -> dict[str, Any]:
    """Return what a publisher is told of an event besides what it led to."""
    state = (await door.get(f"/v1/events/{event_id}", user_id="u1")).json()
    return {name: state[name] for name in ("state", "provisional", "reextractable")}


async def contents(door: FrontDoor, user_id: str = "u1") -> list[str]:
    items = (await door.get("/v1/memories", user_id=user_id, page_size=200)).json()["items"]
    return sorted(item["content"] for item in items)


async def extractions(door: FrontDoor, event_id: str) -> list[CandidatesExtracted]:
    found = []
    for partition in range(door.worker.shards.partitions):
        items = [codec.decode(r.value) for r in await door.worker.log.read(INBOX.name, partition, 0)]
        found += [i for i in items if isinstance(i, CandidatesExtracted) and i.covered[0].piece_id == f"{event_id}#0"]
    return found


async def test_a_policy_is_versioned_kept_and_an_agents_own_goes_before_the_tenants(tmp_path: Path):
    async with front_door(tmp_path) as door:
        assert (await door.get("/v1/policy")).json() == DEFAULT
        first = await set_policy(door, instructions="  Remember birthdays.  ", never=["salary"])
        assert (first["version"], first["instructions"], first["never"]) == (1, "Remember birthdays.", ["salary"])
        second = await set_policy(door, instructions="Remember birthdays.", never=["salary"])
        assert (second["version"], second["policy_id"]) == (2, first["policy_id"])
        own = await set_policy(door, "luna", never_categories=["finance"])
        assert (own["version"], own["agent_id"], own["never"]) == (1, "luna", [])
        assert own["policy_id"] != first["policy_id"]
    shutil.rmtree(tmp_path / "shards")
    async with front_door(tmp_path) as door:
        assert (await door.get("/v1/policy")).json() == second
        assert (await door.get("/v1/policy", agent_id="luna")).json() == own
        assert (await door.get("/v1/policy", agent_id="nova")).json() == second
        assert (await set_policy(door))["policy_id"] is None


async def test_the_same_request_sent_again_is_one_policy(tmp_path: Path):
    async with front_door(tmp_path) as door:
        for key, word, version in [
            ("k-1", "salary", 1),
            ("k-1", "salary", 1),
            ("k-2", "rent", 2),
            ("k-1", "salary", 2),
        ]:
            headers = {"Idempotency-Key": key}
            answer = await door.http.put("/v1/policy", json={"never": [word]}, headers=headers)
            assert answer.json()["version"] == version
        assert (await door.get("/v1/policy")).json()["never"] == ["rent"]


async def test_a_model_is_told_and_what_it_says_all_the_same_is_dropped(tmp_path: Path):
    with ScriptedModel() as model:
        settings = {"extractor": "model", "llm_base_url": model.base_url, "llm_api_key": "k"}
        async with front_door(tmp_path, **settings) as door:
            await say(door, "a-0", "My salary is 100.")
            before = model.requests[-1]
            policy = await set_policy(
                door,
                instructions="Remember the user's shoes.",
                categories={"finance": "invoices only"},
                attributes={"shoe_size": "as the shop says"},
                never=["SALARY"],
            )
            assert (await say(door, "a-1", "My salary is 200."))["state"] == "nothing"
            assert (await say(door, "a-2", "I wear 43."))["state"] == "remembered"
            system = model.requests[-1]["messages"][0]["content"]
            for wish in ("the user's shoes", "category finance: invoices only", "attribute shoe_size", "SALARY"):
                assert wish in system
                assert wish not in before["messages"][0]["content"]
            asked = model.requests[-1]["response_format"]["json_schema"]["schema"]
            assert "shoe_size" in str(asked)
            assert "shoe_size" not in str(before["response_format"])
            [old], [new] = await extractions(door, "a-0"), await extractions(door, "a-2")
            assert new.prompt_hash == f"{old.prompt_hash}/{policy['policy_id']}"
            assert any("salary is 100" in content for content in await contents(door))
            digest = (await door.get("/v1/admin/digest")).json()
            rebuilt = (await door.post("/v1/admin/rebuild", {})).json()
            assert rebuilt["equal"]
            assert (await door.get("/v1/admin/digest")).json() == digest


PLAN = {"type": "string", "description": "the plan that the user pays for"}
SIZES = {"type": "object", "additionalProperties": {"type": "string"}, "description": "the size of what is worn"}
TOOLS = {"type": "array", "items": {"type": "string"}, "description": "what the user works with"}


def filled(lines: list[tuple[int, str]]) -> list[dict[str, Any]]:
    """Answer `My ATTRIBUTE is VALUE.` with an entry that fills the attribute."""
    found = []
    for number, text in lines:
        attribute, value = text.removeprefix("My ").removesuffix(".").split(" is ")
        entry = {"content": f"The user's {attribute} is {value}", "attribute": attribute, "value": value}
        found.append({**entry, "sources": [number], "category": "fact", "memory_type": "long_term"})
    return found


async def converse(door: FrontDoor, words: str, session_id: str, **more: object) -> str:
    """Send one message, wait until it is extracted, and return its state."""
    said = {"messages": [{"role": "user", "content": words, **more.pop("message", {})}]}  # type: ignore[dict-item]
    body = {"user_id": "u1", "session_id": session_id} | said | more
    answer = await door.post("/v1/conversations?wait=60", body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["accepted"][0]["state"])


async def test_a_model_is_told_what_a_caller_says_about_a_conversations_extraction(tmp_path: Path):
    with ScriptedModel() as model:
        settings = {
            "extractor": "model",
            "llm_base_url": model.base_url,
            "llm_api_key": "k",
            "redaction": "email=redact",
        }
        async with front_door(tmp_path, **settings) as door:
            await set_policy(door, instructions="Remember the garden.", never=["salary"])
            own = {"instructions": "Remember dates only, not ann@example.org."}
            assert await converse(door, "The roses came in May.", "own", **own) == "remembered"
            assert await converse(door, "The tulips came in April.", "other") == "remembered"
            assert await converse(door, "My salary came in June.", "forbidden", **own) == "nothing"
            asked = [str(request["messages"][0]["content"]) for request in model.requests]
            assert ["Remember the garden.\nRemember dates only" in one for one in asked] == [True, False, True]
            assert all("Remember the garden." in one and "ann@example.org" not in one for one in asked)
            too_long = {"user_id": "u1", "messages": [], "instructions": "x" * 4_001}
            assert (await door.post("/v1/conversations", too_long)).status_code == 422


async def test_metadata_of_a_turn_tell_the_model_nothing(tmp_path: Path):
    with ScriptedModel() as model:
        settings = {"extractor": "model", "llm_base_url": model.base_url, "llm_api_key": "k"}
        async with front_door(tmp_path, **settings) as door:
            metadata = {"extraction_instructions": "Remember dates only.", "shelf": 2}
            await say(door, "event", "The roses came in May.", metadata=metadata)
            await converse(door, "The tulips came in April.", "talk", message={"metadata": metadata})
            assert len(model.requests) == 2
            assert "Remember dates only" not in str(model.requests)
            refused = await door.post("/v1/events", turn("e", "x", instructions="Remember dates only."))
            assert refused.status_code == 422


async def test_an_attribute_of_the_policy_holds_one_value_a_list_or_one_for_each_name(tmp_path: Path):
    with ScriptedModel(filled) as model:
        settings = {"extractor": "model", "llm_base_url": model.base_url, "llm_api_key": "k"}
        async with front_door(tmp_path, **settings) as door:
            policy = await set_policy(door, attributes={"plan": PLAN, "size": SIZES, "tool": TOOLS, "car": "its make"})
            assert policy["attributes"] == {
                "plan": PLAN,
                "size": SIZES,
                "tool": TOOLS,
                "car": "its make",
            }
            said = [
                *("plan is silver", "plan is gold", "tool is saw", "tool is lathe", "car is Volvo"),
                *("size is shoes: 42", "size is hats: 58", "size is Shoes: 43"),
            ]
            for number, words in enumerate(said):
                assert (await say(door, f"a-{number}", f"My {words}."))["state"] == "remembered"
            other = (await door.get("/v1/users/u1/profile")).json()["other"]
            assert {name: value if isinstance(value, str) else sorted(value) for name, value in other.items()} == {
                "plan": "gold",
                "size": ["Shoes: 43", "hats: 58"],
                "tool": ["lathe", "saw"],
                "car": "Volvo",
            }
            assert await contents(door) == sorted(
                f"The user's {words}" for words in said if words not in ("plan is silver", "size is shoes: 42")
            )
            system = model.requests[-1]["messages"][0]["content"]
            assert "attribute plan, one value, the present one: the plan that the user pays for" in system
            assert "attribute size, one memory for each, the value is `name: value`" in system
            assert "attribute tool, one memory for each value" in system
            digest = (await door.get("/v1/admin/digest")).json()
            assert (await door.post("/v1/admin/rebuild", {})).json()["equal"]
            assert (await door.get("/v1/admin/digest")).json() == digest


async def test_rules_and_words_kept_as_they_are_honour_what_is_never_remembered(tmp_path: Path):
    async with front_door(tmp_path) as door:
        await set_policy(door, never=["香菜"], never_attributes=["city"], never_categories=["finance"])
        assert (await say(door, "a-0", "I paid 120 euros for the train."))["state"] == "nothing"
        assert (await say(door, "a-1", "我讨厌吃香菜。"))["state"] == "nothing"
        assert (await say(door, "a-2", "I live in Berlin."))["state"] == "nothing"
        assert (await say(door, "a-3", "香菜 is on the list.", infer=False))["state"] == "nothing"
        assert (await say(door, "a-4", "我喜欢喝咖啡。"))["state"] == "remembered"
        await set_policy(door)
        assert (await say(door, "a-5", "I live in Berlin."))["state"] == "remembered"


async def test_a_spent_budget_leaves_the_window_to_the_rules_and_to_a_later_run(tmp_path: Path):
    with ScriptedModel(lambda lines: [{"content": f"Model: {text}", "sources": [n]} for n, text in lines]) as model:
        settings = {"extractor": "model", "llm_base_url": model.base_url, "llm_api_key": "k"}
        async with front_door(tmp_path, **settings) as door:
            await set_policy(door, tokens_per_user_day=1)
            await say(door, "a-1", "I like tea.")
            asked = len(model.requests)
            assert (await say(door, "a-2", "I live in Berlin."))["state"] == "remembered"
            await say(door, "b-1", "I like cocoa.", user_id="u2")
            assert len(model.requests) == asked + 1
            [item] = await extractions(door, "a-2")
            assert (item.model, item.provisional) == ("rules", True)
            assert await marks(door, "a-1") == {"state": "remembered", "provisional": False, "reextractable": False}
            assert await marks(door, "a-2") == {"state": "remembered", "provisional": True, "reextractable": True}
            nothing = await say(door, "a-3", "Good morning.")
            assert (nothing["state"], nothing["provisional"]) == ("nothing", True)
            again = (await door.post("/v1/admin/reextract", {})).json()
            assert (again["rejected"], again["extracted"]) == (2, 0)  # the budget is spent still
            assert (await marks(door, "a-2"))["provisional"]
            model_name = door.worker.settings.llm_model
            await set_policy(door)
            found = (await door.post("/v1/admin/reextract", {})).json()
            assert (found["windows"], found["extracted"]) == (2, 2)
            assert len(model.requests) == asked + 3
            assert await marks(door, "a-2") == {"state": "remembered", "provisional": False, "reextractable": False}
            assert [i.model for i in await extractions(door, "a-2")] == ["rules", "rules", model_name]
            assert (await door.post("/v1/admin/reextract", {})).json()["windows"] == 0


async def test_of_a_window_that_the_rules_answered_a_later_run_reads_no_turn_that_was_erased(tmp_path: Path):
    with ScriptedModel(lambda lines: [{"content": f"Model: {text}", "sources": [n]} for n, text in lines]) as model:
        settings = {"extractor": "model", "llm_base_url": model.base_url, "llm_api_key": "k"}
        async with front_door(tmp_path, **settings) as door:
            await set_policy(door, tokens_per_user_day=1)
            await say(door, "a-1", "I like tea.")
            for event_id, text in (("b-1", "I live in Berlin."), ("b-2", "I like cocoa.")):
                event = turn(event_id, text, user_id="u1", session_id="together")
                assert (await door.post("/v1/events", event)).status_code == 202
            assert (await door.post("/v1/admin/drain")).status_code == 200
            [item] = await extractions(door, "b-1")
            assert ([c.piece_id for c in item.covered], item.provisional) == (["b-1#0", "b-2#0"], True)
            items = (await door.get("/v1/memories", user_id="u1")).json()["items"]
            [berlin] = [one for one in items if "Berlin" in one["content"]]
            gone = await door.http.delete(f"/v1/memories/{berlin['memory_id']}", params={"forever": "true"})
            assert gone.status_code == 200
            await set_policy(door)
            asked = len(model.requests)
            found = (await door.post("/v1/admin/reextract", {})).json()
            assert (found["windows"], found["extracted"], found["gone"]) == (1, 1, 0)
            [request] = model.requests[asked:]
            assert "cocoa" in str(request["messages"])
            assert "Berlin" not in str(request["messages"][-1])
            assert not any("Berlin" in content for content in await contents(door))
            assert any("cocoa" in content for content in await contents(door))
            assert (await door.post("/v1/admin/rebuild", {})).json()["equal"]


async def test_a_tenants_budget_is_that_of_all_its_users(tmp_path: Path):
    with ScriptedModel() as model:
        settings = {"extractor": "model", "llm_base_url": model.base_url, "llm_api_key": "k"}
        async with front_door(tmp_path, **settings) as door:
            await set_policy(door, tokens_per_tenant_day=1)
            await say(door, "a-1", "I like tea.")
            assert len(model.requests) == 1
            other = await say(door, "b-1", "I live in Berlin.", user_id="u2")
            assert (other["state"], other["provisional"], len(model.requests)) == ("remembered", True, 1)
            await set_policy(door, "luna", tokens_per_tenant_day=1_000_000)
            await say(door, "b-2", "I like cocoa.", user_id="u2", agent_id="luna")
            assert len(model.requests) == 2


async def test_what_no_model_answers_is_left_to_the_rules_where_the_policy_says_so(tmp_path: Path):
    with ScriptedModel() as model:
        settings = {"extractor": "model", "llm_base_url": model.base_url, "llm_api_key": "k"}
        async with front_door(tmp_path, **settings) as door:
            model.play("prose", 3)
            rejected = await say(door, "a-1", "I like tea.")
            assert (rejected["state"], rejected["provisional"], rejected["reextractable"]) == ("rejected", False, True)
            await set_policy(door, when_refused="rules")
            model.play("prose", 3)
            found = await say(door, "a-2", "I live in Berlin.")
            assert (found["state"], found["provisional"], found["reextractable"]) == ("remembered", True, True)
            [item] = await extractions(door, "a-2")
            assert (item.model, item.provisional) == ("rules", True)
            assert item.dropped[0].startswith("the model's answer: not JSON")
            cost = (await door.get("/v1/admin/usage", by="model")).json()
            assert [(row["model"], row["calls"]) for row in cost["items"]] == [(door.worker.settings.llm_model, 2)]
            again = (await door.post("/v1/admin/reextract", {})).json()
            assert (again["windows"], again["extracted"]) == (2, 2)
            for event_id in ("a-1", "a-2"):
                assert not (await marks(door, event_id))["reextractable"]
            assert (await door.post("/v1/admin/rebuild", {})).json()["equal"]


@pytest.mark.parametrize(
    "policy",
    [
        {"instructions": "x" * 4_001},
        {"never": [" "]},
        {"never": ["\u001c"]},
        {"never": ["x"] * 51},
        {"categories": {"gossip": "what others say"}},
        {"attributes": {"Shoe Size": "x"}},
        {"tokens_per_user_day": -1},
        {"tokens_per_tenant_day": -1},
        {"when_refused": "ask again"},
        {"attributes": {"plan": {"type": "number"}}},
        {"never_attributes": ["cty"]},
        {"attributes": {"plan": {"type": "array", "items": {"type": "number"}}}},
        {"attributes": {"likes": {"type": "string"}}},
        {"wishes": "x"},
    ],
)
async def test_what_is_no_policy_is_refused_and_changes_nothing(tmp_path: Path, policy: dict[str, Any]):
    async with front_door(tmp_path) as door:
        answer = await door.http.put("/v1/policy", json=policy)
        assert answer.status_code == 422
        assert (await door.get("/v1/policy")).json() == DEFAULT


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (
            {"attributes": {"x": {"type": "banana"}}},
            "$.attributes.x: must be a text that says what it holds, or a JSON Schema of type string, array or object",
        ),
        ({"attributes": {"x": "y" * 301}}, "$.attributes.x: must have at most 300 characters"),
        (
            {"attributes": {"x": {"type": "string", "description": "y" * 301}}},
            "$.attributes.x.description: must have at most 300 characters",
        ),
        (
            {"attributes": {"x": {"type": "array", "items": {"type": "number"}}}},
            "$.attributes.x.items.type: must be 'string'",
        ),
        ({"instructions": "x" * 4_001}, "$.instructions: must have at most 4000 characters"),
        ({"never": ["x"] * 51}, "$.never: must have at most 50 items"),
        ({"attributes": {"Shoe Size": "x"}}, "$.attributes.Shoe Size: the name must match ^[a-z][a-z0-9_]{0,39}$"),
        (
            {"never_attributes": ["nosuch"]},
            "$.never_attributes: nosuch is no attribute: correct its name, or describe it under attributes",
        ),
    ],
)
async def test_a_refusal_says_in_a_sentence_where_what_is_wrong(tmp_path: Path, policy: dict[str, Any], sentence: str):
    async with front_door(tmp_path) as door:
        answer = await door.http.put("/v1/policy", json=policy)
        assert (answer.status_code, answer.json()["detail"]) == (422, sentence)


async def test_attributes_come_back_as_they_were_set_and_can_be_forbidden(tmp_path: Path):
    said = {"hobbies": {"type": "array", "items": {"type": "string"}}, "plan": {"type": "string"}, "car": "its make"}
    async with front_door(tmp_path) as door:
        held = await set_policy(door, attributes=said, never_attributes=["hobbies", "city"])
        assert held["attributes"] == said


@pytest.mark.parametrize(
    "policy",
    [
        b"",
        b"[]",
        b'{"never": [5]}',
        b'{"never": [""]}',
        b'{"tokens_per_user_day": "x"}',
        b'{"when_refused": 1}',
        b'{"shapes": {"plan": "tree"}}',
        b'{"categories": [1]}',
    ],
)
async def test_a_record_that_is_no_policy_is_passed_over(tmp_path: Path, policy: bytes):
    """Whoever writes to the topic ends no worker."""
    async with front_door(tmp_path) as door:
        owner = Owner("default", GLOBAL_USER)
        envelope = Envelope(event_id="e", tenant="default", user_id=GLOBAL_USER, occurred_at=door.clock.now())
        value = codec.encode(PolicySet(envelope=envelope, policy=Sealed.clear(policy))) if policy else b"{}"
        await door.worker.log.append([NewRecord(topic=POLICIES.name, partition=0, key=owner.key, value=value)])
        assert (await set_policy(door, never=["x"]))["version"] == 1
        assert (await say(door, "a-1", "I live in Berlin."))["state"] == "remembered"
