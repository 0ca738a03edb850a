"""What users, operators and the log see of mnemolog, as values for the recordings; as a program it prints them.

Prose (descriptions, summaries, help texts) is left out, because it may be improved. All else is a promise.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter
from support.examples import (
    candidate,
    episode,
    extracted,
    forget,
    imported,
    later,
    piece,
    recalled,
    rejected,
    remember,
    restore,
    revise,
    said,
    share,
    tick,
)
from support.given import given
from support.recorded_sample import recorded_sample
from support.wake_examples import cancelled, reminder, wake_tick, woken
from typer.main import get_command

import mnemolog
from mnemolog.cli.program import program
from mnemolog.environment import PREFIX, URL_VARIABLE
from mnemolog.http.app import make_http
from mnemolog.settings import SHARED, Settings, from_environment
from mnemolog.worker.worker import Worker
from schemas import codec
from schemas.topics import TOPICS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT: Final = Path(__file__).resolve().parents[2]
RECORDED: Final = ROOT / "tests" / "data" / "recorded"
FROZEN: Final = {"golden": ROOT / "tests" / "data" / "golden", "avro": ROOT / "schemas" / "avro"}
"""Folders of released files: files may be added, but none may change."""
PROSE: Final = ("description", "summary")
NAMES: Final = ("title",)
"""Derived from the names of classes and fields; only the OpenAPI document shows them to users."""


def openapi() -> Any:
    """Return the OpenAPI document without its prose."""
    return _without(make_http(_idle_worker()).openapi(), PROSE)


def hidden_routes() -> Any:
    """Return the routes that the document leaves out, each with the schema of its body."""
    return {
        f"{method} {route.path}": [
            _without(TypeAdapter(field.field_info.annotation).json_schema(), PROSE + NAMES)
            for field in route.dependant.body_params
        ]
        for route in _routes(make_http(_idle_worker()).routes)
        for method in sorted(route.methods)
        if not route.include_in_schema
    }


def _routes(routes: Any) -> Iterator[Any]:
    """Yield the routes of all routers that an application includes, however deep."""
    for route in routes:
        if hasattr(route, "effective_candidates"):
            yield from _routes(route.effective_candidates())
        elif hasattr(route, "dependant"):
            yield route


def settings() -> Any:
    """Return every variable of the environment with its type, choices, bounds and default."""
    properties = _without(Settings.model_json_schema(), PROSE + NAMES)["properties"]
    return {
        "variables": {f"{PREFIX}{name.upper()}": schema for name, schema in properties.items()},
        "shared": SHARED,
        "url": URL_VARIABLE,
    }


def cli() -> Any:
    """Return every command with its arguments and options."""
    return {name: [_parameter(given) for given in command.params] for name, command in _commands(get_command(program))}


def _commands(command: Any, name: str = "mnemolog") -> Iterator[tuple[str, Any]]:
    yield name, command
    for word, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, f"{name} {word}")


def _parameter(parameter: Any) -> dict[str, Any]:
    kind = parameter.type_descriptor.annotation
    default = parameter.default
    return {
        "kind": parameter.param_type_name,
        "names": [*parameter.opts, *parameter.secondary_opts],
        "metavar": parameter.metavar,
        "type": kind.__qualname__ if isinstance(kind, type) and not hasattr(kind, "__args__") else str(kind),
        "bounds": [parameter.min, parameter.max],
        "default": default if isinstance(default, str | int | float | list | None) else str(default),
        "required": parameter.required,
        "is_flag": getattr(parameter, "is_flag", False),
        "takes": parameter.nargs,
        "repeats": parameter.multiple,
        "variable": parameter.envvar,
        "is_hidden": parameter.hidden,
    }


def frozen_files() -> Any:
    """Return the SHA-256 of every golden file and released schema."""
    return {
        f"{name}/{file.relative_to(folder)}": sha256(file.read_bytes()).hexdigest()
        for name, folder in FROZEN.items()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def topics() -> Any:
    """Return every topic with its messages and limits."""
    return {
        topic.name: {
            "messages": [message.__name__ for message in topic.messages],
            "has_one_partition": topic.single_partition,
            "expires": topic.expires,
            "max_record_bytes": topic.max_record_bytes,
        }
        for topic in TOPICS
    }


def client() -> Any:
    """Return the public names of `import mnemolog`, and the signatures of both clients."""
    return {name: _offered(getattr(mnemolog, name)) for name in sorted(mnemolog.__all__)}


def _offered(one: Any) -> Any:
    if issubclass(one, Exception):
        return [base.__name__ for base in one.__mro__]
    return {
        name: _signature(method)
        for name, method in inspect.getmembers(one)
        if inspect.isfunction(method) and (not name.startswith("_") or (name in one.__dict__ and name.endswith("__")))
    }


def _signature(method: Callable[..., Any]) -> dict[str, Any]:
    signature = inspect.signature(method)
    built = hasattr(method, "__wrapped__")  # made from a function that returns a request, whose type names the answer
    answer = str(signature.return_annotation)
    return {
        "is_awaited": inspect.iscoroutinefunction(method),
        "takes": str(signature.replace(return_annotation=inspect.Signature.empty)),
        "returns": answer.partition("[")[2].removesuffix("]") if built else answer,
    }


def decisions() -> Any:
    """Return the exact bytes of the decisions on fixed inbox items, in hexadecimal, as the ledger has them."""
    found = {}
    known = given(
        said("用户喜欢喝咖啡", "t-1"),
        said("用户很喜欢喝咖啡", "t-2", later(days=1)),
        said("用户住在北京", "t-3", attribute="city", value="北京", memory_type="short_term"),
    )
    first, second = (memory.memory_id for memory in known.memories[:2])
    for item in (
        said("用户住在上海", "t-4", later(days=1), attribute="city", value="上海"),
        extracted(
            episode("用户送给露娜一束红玫瑰", "t-5", occurred_on="2026-01-04", dialogue=("给你", "谢谢")),
            episode("用户送给露娜一束红玫瑰和卡片", "t-5", occurred_on="2026-01-04"),
            candidate("User likes 3 cats", "t-5", memory_type="short_term"),
            covers=[piece("t-5", later(days=2))],
        ),
        rejected("t-6", later(days=2)),
        remember("User likes tea", "c-1", later(days=2), importance=0.9),
        remember("用户叫小明", "c-2", later(days=2), attribute="nickname", value="小明"),
        imported("User had a dog", "dog", later(days=2), formed=later(days=-40), status="active"),
        recalled(first, second, command="r-1", at=later(days=3)),
        revise(first, "c-3", later(days=3), content="用户喜欢喝绿茶"),
        share(first, "nova", "c-4", later(days=3)),
        forget(second, "c-5", later(days=4)),
        reminder("call mum", "c-6", later(days=6), later(days=4)),
        reminder("call dad", "c-7", later(days=60), later(days=4)),
        woken("c-8", later(days=4), every=86_400.0, memory_limit=2),
        wake_tick(later(days=7)),
        tick(later(days=12)),
        tick(later(days=14), "ebbinghaus"),
        restore(second, "c-9", later(days=15)),
        cancelled("none", "c-10", later(days=15)),
        woken("c-11", later(days=16), every=None),
    ):
        known = known.when(item)
        name = f"{type(item).__name__} {item.envelope.event_id}"
        found[name] = [codec.encode(decision).hex() for decision in known.decisions]
    return found


def sample() -> dict[str, Any]:
    """Return the outputs of one worker over the bundled sample, by the names of the recordings."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(recorded_sample(Path(folder)))


QUICK: Final[dict[str, Callable[[], Any]]] = {
    one.__name__: one for one in (openapi, hidden_routes, settings, cli, frozen_files, topics, client, decisions)
}
"""All outputs except the sample's, by the names of their recordings."""


def _idle_worker() -> Worker:
    return Worker(from_environment({}))


def _without(document: Any, names: tuple[str, ...]) -> Any:
    """Return a JSON document without texts under these names; a property that has such a name is no text, and stays."""
    if isinstance(document, list):
        return [_without(one, names) for one in document]
    if not isinstance(document, dict):
        return document
    return {
        name: _without(value, names)
        for name, value in document.items()
        if not (name in names and isinstance(value, str))
    }


def main() -> None:
    """Print all outputs as one JSON object, by the names of their recordings."""
    found = {name: read() for name, read in QUICK.items()} | sample()
    json.dump(found, sys.stdout, ensure_ascii=False)


if __name__ == "__main__":
    main()
