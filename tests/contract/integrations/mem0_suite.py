"""What mem0's own clients, unchanged, ask of a server, and what they must be answered."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import pytest
from contract.integrations.mem0_clients import async_memory_client, memory_client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def keep(client: Any, words: str, **whose: Any) -> dict[str, Any]:
    """Have a text remembered as it is, and return what became of it."""
    added = client.add(words, infer=False, **whose)
    assert added["status"] == "SUCCEEDED"
    [result] = added["results"]
    assert result["event"] == "ADD"
    found: dict[str, Any] = result
    return found


def words_of(answer: dict[str, Any]) -> set[str]:
    return {one["memory"] for one in answer["results"]}


def finished(client: Any, event_id: str) -> dict[str, Any]:
    """Return an event when it is over."""
    for _ in range(200):
        event: dict[str, Any] = client.client.get(f"/v1/event/{event_id}/").json()
        if event["status"] != "PENDING":
            return event
        time.sleep(0.05)
    raise AssertionError(event)


async def _speaks_swedish(client: Any, user: str) -> None:
    added = await client.add("Mia speaks Danish.", user_id=user, infer=False)
    memory_id = added["results"][0]["id"]
    assert words_of(await client.search("Danish", filters={"user_id": user})) == {"Mia speaks Danish."}
    assert (await client.update(memory_id, text="Mia speaks Swedish."))["memory"] == "Mia speaks Swedish."
    assert words_of(await client.get_all(filters={"user_id": user})) == {"Mia speaks Swedish."}
    assert len(await client.history(memory_id)) == 2
    await client.delete_all(user_id=user)
    assert words_of(await client.get_all(filters={"user_id": user})) == set()


class Mem0Suite:
    """What every server must do for mem0's clients; a test inherits it and supplies the fixture `server`, a URL."""

    @pytest.fixture
    def client(self, server: str) -> Iterator[Any]:
        """Yield mem0's client of the server."""
        client = memory_client(server)
        yield client
        client.client.close()

    @pytest.fixture
    def user(self) -> str:
        """Return a user whom no other test has."""
        return f"user-{uuid4().hex[:8]}"

    def test_what_is_said_is_extracted_later_and_found(self, client: Any, user: str):
        said = [
            {"role": "user", "content": "My name is Mia Berger and I work at Siemens in Munich."},
            {"role": "assistant", "content": "Nice to meet you!"},
        ]
        added = client.add(said, user_id=user, agent_id="planner", metadata={"channel": "web"})
        assert added["status"] == "PENDING"
        event = finished(client, added["event_id"])
        assert event["status"] == "SUCCEEDED"
        assert "User works at Siemens" in {one["data"]["memory"] for one in event["results"]}
        found = client.search("where does she work?", filters={"user_id": user})["results"]
        assert "Siemens" in found[0]["memory"] + found[1]["memory"]
        assert found[0]["metadata"] == {"channel": "web"}  # it came with the turn
        assert (found[0]["user_id"], found[0]["agent_id"], found[0]["run_id"]) == (user, "planner", None)
        assert 0 < found[0]["score"] <= 1

    def test_what_is_kept_as_it_is_can_be_read_at_once(self, client: Any, user: str):
        kept = keep(client, "Mia keeps bees.", user_id=user, run_id="r1", app_id="web", metadata={"topic": "pets"})
        memory = client.get(kept["id"])
        assert memory["memory"] == "Mia keeps bees."
        assert (memory["user_id"], memory["run_id"], memory["app_id"]) == (user, "r1", "web")
        assert memory["metadata"] == {"topic": "pets"}
        assert client.add("Mia keeps bees.", user_id=user, infer=False)["results"][0]["event"] == "NONE"

    def test_ids_are_taken_from_filters_as_from_the_top(self, client: Any, user: str):
        keep(client, "Mia paints.", filters={"AND": [{"user_id": user}, {"run_id": "r2"}]})
        assert words_of(client.get_all(filters={"AND": [{"user_id": user}, {"run_id": "r2"}]})) == {"Mia paints."}

    def test_filters_narrow_a_list_and_a_search(self, client: Any, user: str):
        keep(client, "Mia swims on Mondays.", user_id=user, run_id="a", metadata={"n": 1})
        keep(client, "Mia swims on Tuesdays.", user_id=user, run_id="b", metadata={"n": 2})
        keep(client, "Mia swims on Fridays.", user_id=user, app_id="web")
        everything = words_of(client.get_all(filters={"user_id": user}))
        assert len(everything) == 3
        cases: list[tuple[dict[str, Any], set[str]]] = [
            ({"run_id": "a"}, {"Mia swims on Mondays."}),
            ({"run_id": "*"}, {"Mia swims on Mondays.", "Mia swims on Tuesdays."}),
            ({"run_id": {"in": ["b", "c"]}}, {"Mia swims on Tuesdays."}),
            ({"app_id": "web"}, {"Mia swims on Fridays."}),
            ({"metadata": {"n": 2}}, {"Mia swims on Tuesdays."}),
            ({"n": {"gte": 1}}, {"Mia swims on Mondays.", "Mia swims on Tuesdays."}),
            ({"NOT": [{"run_id": "a"}]}, {"Mia swims on Tuesdays.", "Mia swims on Fridays."}),
            ({"OR": [{"run_id": "a"}, {"app_id": "web"}]}, {"Mia swims on Mondays.", "Mia swims on Fridays."}),
            ({"keywords": {"icontains": "TUES"}}, {"Mia swims on Tuesdays."}),
            ({"created_at": {"gte": "2020-01-01"}}, everything),
            ({"created_at": {"lt": "2020-01-01"}}, set()),
            ({"categories": {"in": ["finance"]}}, set()),
        ]
        for condition, wanted in cases:
            filters = {"AND": [{"user_id": user}, condition]}
            assert words_of(client.get_all(filters=filters)) == wanted, condition
            assert words_of(client.search("When does Mia swim?", filters=filters, top_k=10)) == wanted, condition

    def test_a_filter_may_name_several_users_or_none_of_them(self, client: Any, user: str):
        other, run = f"{user}-2", f"run-{user}"
        keep(client, "The first one sings.", user_id=user, run_id=run)
        keep(client, "The second one sings.", user_id=other, run_id=run)
        both = {"The first one sings.", "The second one sings."}
        assert words_of(client.get_all(filters={"OR": [{"user_id": user}, {"user_id": other}]})) == both
        assert words_of(client.search("Who sings?", filters={"user_id": {"in": [user, other]}})) == both
        assert words_of(client.search("Who sings?", filters={"run_id": run})) == both
        assert words_of(client.get_all(filters={"AND": [{"user_id": "*"}, {"run_id": run}]})) == both
        not_the_other = {"AND": [{"run_id": run}, {"user_id": {"ne": other}}]}
        assert words_of(client.get_all(filters=not_the_other)) == {"The first one sings."}

    def test_what_is_of_an_agent_alone_is_found_by_the_agent(self, client: Any, user: str):
        agent = f"agent-{user}"
        kept = keep(client, "The planner prefers tables.", agent_id=agent)
        assert kept["user_id"] is None
        [memory] = client.get_all(filters={"agent_id": agent})["results"]
        assert (memory["user_id"], memory["agent_id"]) == (None, agent)
        assert words_of(client.search("tables", filters={"agent_id": agent})) == {"The planner prefers tables."}
        client.delete_users(agent_id=agent)
        assert words_of(client.get_all(filters={"agent_id": agent})) == set()

    def test_pages_are_counted_and_lead_to_each_other(self, client: Any, user: str):
        for number in range(5):
            keep(client, f"Fact number {number}.", user_id=user)
        pages = [client.get_all(filters={"user_id": user}, page=page, page_size=2) for page in (1, 2, 3)]
        assert [len(page["results"]) for page in pages] == [2, 2, 1]
        assert {page["count"] for page in pages} == {5}
        assert set().union(*map(words_of, pages)) == {f"Fact number {number}." for number in range(5)}
        assert pages[0]["previous"] is None
        assert "page=2" in pages[0]["next"]
        assert pages[2]["next"] is None

    def test_a_memory_is_changed_and_its_history_says_so(self, client: Any, user: str):
        memory_id = keep(client, "Mia lives in Basel.", user_id=user, metadata={"kept": 1, "seen": 1})["id"]
        assert client.update(memory_id, text="Mia lives in Bern.")["memory"] == "Mia lives in Bern."
        assert client.update(memory_id, metadata={"seen": 2})["metadata"] == {"kept": 1, "seen": 2}
        assert client.update(memory_id, expiration_date="2090-05-01")["expiration_date"] == "2090-05-01"
        assert client.update(memory_id, expiration_date=None)["expiration_date"] is None
        client.delete(memory_id)
        history = client.history(memory_id)
        assert [one["event"] for one in history] == ["ADD", "UPDATE", "UPDATE", "DELETE"]
        assert (history[1]["old_memory"], history[1]["new_memory"]) == ("Mia lives in Basel.", "Mia lives in Bern.")

    def test_what_has_expired_is_shown_only_where_that_is_asked_for(self, client: Any, user: str):
        keep(client, "Mia has a fever.", user_id=user, expiration_date="2020-01-01")
        assert client.get_all(filters={"user_id": user})["results"] == []
        [shown] = client.get_all(filters={"user_id": user}, show_expired=True)["results"]
        assert shown["expiration_date"] == "2020-01-01"

    def test_what_is_inferred_expires_at_its_date_too(self, client: Any, user: str):
        said = "I work at Siemens in Munich."
        added = client.add(said, user_id=user, expiration_date="2090-05-01", metadata={"channel": "web"})
        assert finished(client, added["event_id"])["status"] == "SUCCEEDED"
        found = client.get_all(filters={"user_id": user})["results"]
        assert {(one["expiration_date"], one["metadata"]["channel"]) for one in found} == {("2090-05-01", "web")}
        assert not any("expires_at" in one["metadata"] for one in found)

    def test_feedback_is_noted_and_can_be_filtered_by(self, client: Any, user: str):
        memory_id = keep(client, "Mia likes jazz.", user_id=user)["id"]
        client.feedback(memory_id, "NEGATIVE", "she likes techno")
        filters = {"AND": [{"user_id": user}, {"feedback": "NEGATIVE"}]}
        [found] = client.get_all(filters=filters)["results"]
        assert found["metadata"] == {"feedback": "NEGATIVE", "feedback_reason": "she likes techno"}

    def test_several_are_changed_and_deleted_at_once(self, client: Any, user: str):
        ids = [keep(client, f"Fact {number}.", user_id=user)["id"] for number in range(3)]
        client.batch_update([{"memory_id": ids[0], "text": "Fact zero."}, {"memory_id": ids[1], "metadata": {"n": 1}}])
        assert client.get(ids[0])["memory"] == "Fact zero."
        assert client.get(ids[1])["metadata"] == {"n": 1}
        client.batch_delete([{"memory_id": ids[0]}, {"memory_id": ids[2]}])
        assert words_of(client.get_all(filters={"user_id": user})) == {"Fact 1."}

    def test_all_of_a_user_is_deleted_and_nobody_elses(self, client: Any, user: str):
        keep(client, "One of the first.", user_id=user, run_id="r")
        keep(client, "Two of the first.", user_id=user)
        keep(client, "One of the other.", user_id=f"{user}-2")
        client.delete_all(user_id=user, run_id="r")
        assert words_of(client.get_all(filters={"user_id": user})) == {"Two of the first."}
        client.delete_all(filters={"user_id": user})  # which the client writes into the query as Python does
        assert words_of(client.get_all(filters={"user_id": user})) == set()
        assert words_of(client.get_all(filters={"user_id": f"{user}-2"})) == {"One of the other."}

    def test_whoever_has_memories_is_listed_and_can_be_deleted(self, client: Any, user: str):
        keep(client, "Somebody was here.", user_id=user, agent_id=f"a-{user}", run_id=f"r-{user}", app_id=f"p-{user}")
        named = {(one["type"], one["name"]) for one in client.users()["results"]}
        assert {("user", user), ("agent", f"a-{user}"), ("run", f"r-{user}"), ("app", f"p-{user}")} <= named
        client.delete_users(user_id=user)
        assert not {one["name"] for one in client.users()["results"]} & {user, f"a-{user}", f"r-{user}", f"p-{user}"}

    def test_a_projects_settings_are_the_policy(self, client: Any, server: str):
        from mem0.exceptions import ValidationError  # noqa: PLC0415 - after it was made quiet

        with httpx.Client(base_url=server, timeout=120) as http:
            before = http.put("/v1/policy", json={"never": ["salary"]}).json()
            client.project.update(
                custom_instructions="Remember the garden.", custom_categories=[{"habit": "what is done every week"}]
            )
            policy = http.get("/v1/policy").json()
            assert (policy["instructions"], policy["never"]) == ("Remember the garden.", before["never"])
            assert policy["categories"] == {"habit": "what is done every week"}
            shown = client.project.get(fields=["custom_instructions", "custom_categories"])
            assert shown == {
                "custom_instructions": "Remember the garden.",
                "custom_categories": [{"habit": "what is done every week"}],
            }
            for refused, told in (
                ({"custom_categories": [{"sports": "games"}]}, "there is no category 'sports'"),
                ({"agent_custom_instructions": "Be brief."}, "the policy of the agent"),
                ({"custom_categories": "sports"}, "must be a list"),
            ):
                with pytest.raises(ValidationError, match=told):
                    client.project.update(**refused)
            http.put("/v1/policy", json={})

    def test_instructions_of_a_call_are_accepted_and_stay_out_of_the_metadata(self, client: Any, user: str):
        said = "I work at Siemens in Munich."
        added = client.add(
            said,
            user_id=user,
            custom_instructions="Remember where people work.",
            custom_categories=[{"fact": "where people work"}, {"sports": "games"}],
            metadata={"channel": "web"},
        )
        assert finished(client, added["event_id"])["status"] == "SUCCEEDED"
        assert {str(one["metadata"]) for one in client.get_all(filters={"user_id": user})["results"]} == {
            "{'channel': 'web'}"
        }

    def test_refusals_are_the_clients_own_errors(self, client: Any, server: str):
        from mem0.exceptions import MemoryNotFoundError, ValidationError  # noqa: PLC0415 - after it was made quiet

        many = [f"user-{number}" for number in range(101)]
        cases: list[tuple[type[Exception], Callable[[], Any], str]] = [
            (MemoryNotFoundError, lambda: client.get(str(uuid4())), "Memory not found"),
            (MemoryNotFoundError, lambda: client.delete(str(uuid4())), "Memory not found"),
            (MemoryNotFoundError, lambda: client.update(str(uuid4()), text="x"), "Memory not found"),
            (ValidationError, lambda: client.get_all(filters={}), "say whose"),
            (ValidationError, lambda: client.search("x", filters={"metadata": {"a": 1}}), "say whose"),
            (ValidationError, lambda: client.add([], user_id="u"), "no message"),
            (ValidationError, lambda: client.add("x"), "say whose"),
            (ValidationError, lambda: client.get_all(filters={"user_id": {"in": many}}), "101 users are named"),
            (
                ValidationError,
                lambda: client.search("x", filters={"AND": [{"user_id": "u"}, {"n": {"~": 1}}]}),
                "operator",
            ),
        ]
        for error, ask, told in cases:
            with pytest.raises(error) as refused:
                ask()
            assert told in str(refused.value)
        plain = httpx.get(f"{server}/v1/memories/none/")
        assert plain.headers["content-type"] == "application/json"
        assert "detail" in plain.json()

    @pytest.mark.asyncio
    async def test_the_asynchronous_client_does_the_same(self, server: str, user: str):
        client = async_memory_client(server)
        await _speaks_swedish(client, user)
        await client.async_client.aclose()

    def test_the_plain_routes_of_its_server_answer_when_all_is_done(self, server: str, user: str):
        with httpx.Client(base_url=server, timeout=120) as http:
            said = [{"role": "user", "content": "I have a cat called Momo."}]
            added = http.post("/memories", json={"messages": said, "user_id": user}).json()["results"]
            assert any("Momo" in one["memory"] for one in added)
            kept = http.post("/memories", json={"messages": said, "user_id": user, "infer": False}).json()["results"]
            memory_id = kept[0]["id"]
            assert http.get(f"/memories/{memory_id}").json()["memory"] == "I have a cat called Momo."
            found = http.post("/search", json={"query": "cat", "user_id": user}).json()["results"]
            assert any("Momo" in one["memory"] for one in found)
            assert len(http.get("/memories", params={"user_id": user}).json()["results"]) >= 2
            http.put(f"/memories/{memory_id}", json={"text": "I have a dog."})
            assert [one["event"] for one in http.get(f"/memories/{memory_id}/history").json()] == ["ADD", "UPDATE"]
            assert http.delete(f"/memories/{memory_id}").json()["message"]
            assert http.get(f"/memories/{memory_id}").status_code == 404
            http.delete("/memories", params={"user_id": user})
            assert http.get("/memories", params={"user_id": user}).json()["results"] == []

    def test_clients_of_before_are_answered_in_their_shapes(self, server: str, user: str):
        with httpx.Client(base_url=server, timeout=120) as http:
            said = [{"role": "user", "content": "My brother Tom lives in Oslo."}]
            [queued] = http.post("/v1/memories/", json={"messages": said, "user_id": user}).json()
            assert queued["status"] == "PENDING"
            other = [{"role": "user", "content": "My sister Ida lives in Bergen."}]  # else it may be known by now
            body = {"messages": other, "user_id": user, "async_mode": False, "output_format": "v1.1", "infer": False}
            assert http.post("/v1/memories/", json=body).json()["results"][0]["event"] == "ADD"
            asked = {"query": "brother", "filters": {"user_id": user}}
            assert isinstance(http.post("/v2/memories/search/", json=asked).json(), list)
            assert isinstance(http.post("/v1/memories/search/", json={"query": "x", "user_id": user}).json(), list)
            assert isinstance(http.post("/v2/memories/", json={"filters": {"user_id": user}}).json(), list)
            assert isinstance(http.get("/v1/memories/", params={"user_id": user}).json(), list)
