"""The page of /docs: every route with its parameters, body and answers, in HTML without scripts or other files."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Schema = Mapping[str, Any]

_STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1c1e21 }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccd } h3 { margin-bottom: 0 }
code { font: 0.9em ui-monospace, monospace } nav a { margin-right: 1rem }
summary { cursor: pointer; padding: 0.3rem 0 } summary b { display: inline-block; min-width: 4.5rem; color: #05589c }
details > div { padding-left: 4.5rem } table { border-collapse: collapse; width: 100%; margin: 0.3rem 0 1rem }
td, th { text-align: left; vertical-align: top; border-bottom: 1px solid #e4e6ea; padding: 0.2rem 0.8rem 0.2rem 0 }
@media (prefers-color-scheme: dark) { body { background: #16181b; color: #e3e5e8 } a, summary b { color: #7ab8f0 } }
"""
_DIGEST: Final = b64encode(sha256(_STYLE.encode()).digest()).decode()
CONTENT_SECURITY_POLICY: Final = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; frame-ancestors 'none'"
"""The page's Content-Security-Policy: its own style, and nothing else."""
_BOUNDS: Final = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "maxItems": "at most {} items",
}


def docs_page(document: Schema) -> str:
    """Return the page for an OpenAPI document."""
    described = [
        (operation.get("tags", ["more"])[0], method, path, operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    described.sort(key=lambda each: each[0])
    by_tag = {tag: list(each) for tag, each in groupby(described, key=lambda each: each[0])}
    shapes = document.get("components", {}).get("schemas", {})
    links = "".join(f'<a href="#{escape(tag)}">{escape(tag)}</a>' for tag in by_tag)
    parts = [
        f"<title>{escape(document['info']['title'])}</title><style>{_STYLE}</style>",
        f"<h1>{escape(document['info']['title'])}</h1><p>{escape(document['info'].get('description', ''))}</p>",
        f'<nav>{links}<a href="#shapes">shapes</a><a href="openapi.json">openapi.json</a></nav>',
    ]
    for tag, operations in by_tag.items():
        parts.append(f'<h2 id="{escape(tag)}">{escape(tag)}</h2>')
        parts += [_operation(method, path, operation) for _, method, path, operation in operations]
    parts.append('<h2 id="shapes">shapes</h2>')
    parts += [_shape(name, shape) for name, shape in shapes.items()]
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    return head + "\n".join(parts) + "</html>"


def _operation(method: str, path: str, operation: Schema) -> str:
    parts = [f"<p>{escape(operation.get('description', ''))}</p>"]
    rows = (
        (each["name"], f"{each['in']}{', required' if each.get('required') else ''}", each["schema"], each)
        for each in operation.get("parameters", ())
    )
    parts += _table("parameters", ((name, where, _description(schema, each)) for name, where, schema, each in rows))
    body = operation.get("requestBody")
    if body is not None:
        kinds = ((kind, "body", _type(of.get("schema", {}))) for kind, of in body["content"].items())
        parts += _table(f"body {escape(body.get('description', ''))}", kinds)
    answers = (
        (status, ", ".join(each.get("content", {})), f"{_answer(each)} {escape(each.get('description', ''))}")
        for status, each in sorted(operation["responses"].items())
    )
    parts += _table("answers", answers)
    return (
        f"<details><summary><b>{method.upper()}</b> <code>{escape(path)}</code></summary>"
        f"<div>{''.join(parts)}</div></details>"
    )


def _answer(response: Schema) -> str:
    return " ".join(
        _type(of["schema"])
        for kind, of in response.get("content", {}).items()
        if "schema" in of and "problem" not in kind
    )


def _shape(name: str, shape: Schema) -> str:
    required = set(shape.get("required", ()))
    rows = (
        (field, "required" if field in required else "", _description(schema, schema))
        for field, schema in shape.get("properties", {}).items()
    )
    table = "".join(_table("fields", rows)) or f"<p>{_type(shape)}</p>"
    return f'<h3 id="{escape(name)}">{escape(name)}</h3><p>{escape(shape.get("description", ""))}</p>{table}'


def _description(schema: Schema, described: Schema) -> str:
    """Return a value's type, default and description, as HTML."""
    given = f", by default <code>{escape(repr(schema['default']))}</code>" if "default" in schema else ""
    return f"{_type(schema)}{given} {escape(described.get('description', ''))}"


def _type(schema: Schema) -> str:
    """Return a type in words, as HTML; the name of a shape becomes a link."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(_type(each) for each in schema[several])
    if "enum" in schema or "const" in schema:
        allowed = schema.get("enum", [schema.get("const")])
        return " or ".join(f"<code>{escape(str(each))}</code>" for each in allowed)
    if schema.get("type") == "array":
        words = f"list of {_type(schema.get('items', {}))}"
    else:
        words = escape(str(schema.get("format") or schema.get("type") or "anything"))
    bounds = [escape(bound.format(schema[name])) for name, bound in _BOUNDS.items() if name in schema]
    return f"{words} ({', '.join(bounds)})" if bounds else words


def _table(caption: str, rows: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Yield a table, if it has rows of a name, a remark, and a description that is HTML already."""
    cells = [f"<tr><th><code>{escape(a)}</code><td>{escape(b)}<td>{c}" for a, b, c in rows]
    if cells:
        yield f"<table><caption>{caption}</caption>{''.join(cells)}</table>"
