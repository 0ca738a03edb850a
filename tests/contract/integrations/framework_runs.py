"""Tools and a retriever in the frameworks themselves, with a model that says what a test wants, against a worker.

It imports the frameworks, which takes seven seconds: tests import it when they run.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from agents import Agent, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.models.interface import Model
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedStore, ToolNode, create_react_agent
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from mnemolog import AsyncClient, Client
from mnemolog.integrations import langchain, openai_agents
from mnemolog.integrations.langgraph import MnemologStore

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore


def langchain_tools_remember_and_find(url: str) -> None:
    with Client(url) as client:
        add, search = langchain.memory_tools(client, "lc")
        assert (add.name, search.name) == ("memory_add", "memory_search")
        add.invoke({"content": "Ann is allergic to peanuts"})
        assert "peanuts" in search.invoke({"query": "allergic"})
        assert "blank" in search.invoke({"query": " "}), "a refusal is an answer that the model reads"


async def langchain_tools_and_the_retriever_work_with_await(url: str) -> None:
    async with AsyncClient(url) as asking:
        with Client(url) as client:
            add, _ = langchain.memory_tools(client, "la", async_client=asking)
            await add.ainvoke({"content": "Ann plays the oboe"})
            retriever = langchain.MemoryRetriever(client=client, user_id="la", async_client=asking)
            for found in (await retriever.ainvoke("oboe"), retriever.invoke("oboe")):
                assert [one.page_content for one in found] == ["Ann plays the oboe"]
                assert found[0].metadata["score"] > 0


def a_graph_runs_on_the_store_and_the_tools(url: str) -> None:
    call = {"name": "memory_add", "args": {"content": "Ann has a cat"}, "id": "c1"}
    model = GenericFakeChatModel(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("Noted.")]))

    def answer(state: MessagesState, *, store: BaseStore) -> dict[str, Any]:
        store.put(("lg", "turns"), str(len(state["messages"])), {"last": str(state["messages"][-1].content)})
        return {"messages": [model.invoke(state["messages"])]}

    with Client(url) as client, MnemologStore(url) as store:
        graph = StateGraph(MessagesState)
        graph.add_node("answer", answer)
        graph.add_node("tools", ToolNode(langchain.memory_tools(client, "lg")))
        graph.add_edge(START, "answer")
        graph.add_conditional_edges("answer", lambda s: "tools" if s["messages"][-1].tool_calls else END)
        graph.add_edge("tools", "answer")
        done = graph.compile(store=store).invoke({"messages": [HumanMessage("I have a cat")]})
        assert done["messages"][-1].content == "Noted."
        assert any(isinstance(message, ToolMessage) for message in done["messages"])
        assert [memory["content"] for memory in client.memories("lg")["items"]] == ["Ann has a cat"]
        assert {item.key for item in store.search(("lg", "turns"))} == {"1", "3"}


class Told(GenericFakeChatModel):
    """Says what a test wants, whatever tools it is given."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:  # noqa: ARG002 - LangChain's name
        return self


@tool
def keep(key: str, fact: str, store: Annotated[Any, InjectedStore()]) -> str:
    """Keep a fact."""
    store.put(("react", "facts"), key, {"fact": fact})
    return "kept"


@tool
async def find(query: str, store: Annotated[Any, InjectedStore()]) -> str:
    """Find facts."""
    return "; ".join(item.value["fact"] for item in await store.asearch(("react",), query=query))


async def a_react_agent_keeps_and_finds_in_the_store(url: str) -> None:
    calls = [
        {"name": "keep", "args": {"key": "pet", "fact": "Ann has a cat called Momo"}, "id": "c1"},
        {"name": "find", "args": {"query": "cat"}, "id": "c2"},
    ]
    said = [*(AIMessage("", tool_calls=[call]) for call in calls), AIMessage("Momo.")]
    async with MnemologStore(url) as store:
        agent = create_react_agent(Told(messages=iter(said)), [keep, find], store=store)
        done = await agent.ainvoke({"messages": [HumanMessage("What is my cat called?")]})
        told = [message.content for message in done["messages"] if isinstance(message, ToolMessage)]
        assert told == ["kept", "Ann has a cat called Momo"]
        assert done["messages"][-1].content == "Momo."


class Scripted(Model):
    """A model that calls memory_add, and then says what the tool answered."""

    def __init__(self) -> None:
        self.turns = 0

    async def get_response(self, *_: Any, **asked: Any) -> ModelResponse:
        self.turns += 1
        output: Any
        if self.turns == 1:
            arguments = json.dumps({"content": "Ann lives in Bergen"})
            output = ResponseFunctionToolCall(
                arguments=arguments, call_id="c1", name="memory_add", type="function_call"
            )
        else:
            said = ResponseOutputText(text=str(asked["input"][-1]["output"]), type="output_text", annotations=[])
            output = ResponseOutputMessage(
                id="m1", content=[said], role="assistant", status="completed", type="message"
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


async def an_openai_agent_remembers_by_its_tool(url: str) -> None:
    set_tracing_disabled(True)
    async with AsyncClient(url) as client:
        tools = await openai_agents.memory_tools(client, "oa")
        agent = Agent(name="a", model=Scripted(), tools=[*tools])
        done = await Runner.run(agent, "I live in Bergen")
        assert "Ann lives in Bergen" in done.final_output
        assert (await client.memories("oa"))["total"] == 1
