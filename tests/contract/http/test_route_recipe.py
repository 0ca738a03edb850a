"""The worked example of docs/contributing/route.md, performed: its code does what the page promises."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import orjson
import pytest
from contract.front_door import front_door

from mnemolog.cli.commands import profile
from mnemolog.cli.invocation import Commands
from mnemolog.cli.output import Output
from mnemolog.client import memories
from mnemolog.extensions.mcp import tools
from mnemolog.http.models import responses
from mnemolog.http.permissions import OF_USERS
from mnemolog.http.routes import agents
from mnemolog.http.routing import routes
from schemas.identity import Owner

if TYPE_CHECKING:
    from mnemolog.extensions.mcp.tools import RoutedTool

RECIPE: Final = Path(__file__).resolve().parents[3] / "docs" / "contributing" / "route.md"
PATH: Final = "/v1/users/{user_id}/agents"


def names_after(code: str, module: ModuleType, **others: Any) -> dict[str, Any]:
    """Return the names of a module after this code at its end."""
    names = vars(module) | others
    exec(code, names)  # noqa: S102 - the code of our own page
    return names


@pytest.mark.asyncio
async def test_the_worked_example_of_the_recipe_does_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    shape, route, call, command, tool, _ = re.findall(r"```python\n(.*?)```", RECIPE.read_text("utf-8"), re.DOTALL)
    shapes = names_after(shape, responses)
    router = routes("agents", "/v1", OF_USERS)
    answers = names_after(route, agents, responses=SimpleNamespace(**shapes), router=router)
    async with front_door(tmp_path) as door:
        await door.remember("likes tea", "u1", agent_id="luna")
        await door.remember("likes milk", "u1")
        response = await answers["agent_counts"](Owner("default", "u1"), door.worker)
    counts: dict[str, Any] = orjson.loads(response.body)
    assert counts == shapes["AgentCounts"](**counts).model_dump() == {"agents": {"luna": 1}}
    assert [vars(one)["path_format"] for one in router.routes] == [PATH]
    assert names_after(call, memories)["agents"]("u1").path == PATH.format(user_id="u1")

    async def answered(_: str) -> dict[str, Any]:
        return counts

    agents_command = names_after(command, profile, commands=Commands())["agents"]
    capsys.readouterr()
    await agents_command(SimpleNamespace(agents=answered), Output(as_json=False), user="u1")
    assert re.findall(r"\w+", capsys.readouterr().out) == ["agent", "memories", "luna", "1"]
    routed: RoutedTool = eval(tool, vars(tools))  # noqa: S307 - the code of our own page
    assert routed.request({}, {"user_id": "u1"}).path == PATH.format(user_id="u1")
    assert routed.as_text(counts) == "- luna: 1"
