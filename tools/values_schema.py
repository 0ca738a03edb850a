"""Writes helm/mnemolog/values.schema.json from the comments of values.yaml; `--check` only checks whether it is fresh.

The comment lines right above a key are its description. A line that begins with `@schema` has JSON Schema as a YAML
mapping, which takes precedence over the schema from the default. That has its type and, for a mapping, its keys; no
others may be set.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).resolve().parents[1] / "helm" / "mnemolog"
MARK = "@schema "
TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


class CommentError(ValueError):
    """A comment of values.yaml cannot be used; the message says where, and what to do."""


def schema_of(text: str) -> dict[str, Any]:
    """Return the JSON Schema of a values.yaml. Raises CommentError."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        raise CommentError("values.yaml is no mapping")
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Values of the mnemolog chart"}
    return head | _mapping(root, yaml.safe_load(text), text.splitlines())


def _mapping(node: yaml.MappingNode, value: dict[str, Any], lines: list[str]) -> dict[str, Any]:
    properties = {key.value: _property(key, child, value[key.value], lines) for key, child in node.value}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _property(key: yaml.Node, node: yaml.Node, value: object, lines: list[str]) -> dict[str, Any]:
    description, said = _comment(key.start_mark.line, lines)
    where = f"values.yaml, line {key.start_mark.line + 1}: {key.value}"
    if not description:
        raise CommentError(f"{where} has no comment: say right above it what it is")
    if value is None and "type" not in said:
        raise CommentError(f"{where} has no default and no type: add # {MARK}{{type: ...}}")
    found: dict[str, Any] = {"description": description}
    if isinstance(node, yaml.MappingNode) and node.value:
        assert isinstance(value, dict)  # noqa: S101 - what the node was loaded as
        return found | _mapping(node, value, lines) | said
    if value is not None:
        found["type"] = TYPES[type(value)]
    return found | {"default": value} | said


def _comment(line: int, lines: list[str]) -> tuple[str, dict[str, Any]]:
    """Return the description and the schema in the comment lines right above a line."""
    first = line
    while first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    texts = [text.lstrip().removeprefix("#").strip() for text in lines[first:line]]
    said: dict[str, Any] = {}
    for text in texts:
        if text.startswith(MARK):
            said |= yaml.safe_load(text.removeprefix(MARK))
    return " ".join(text for text in texts if not text.startswith(MARK)), said


def written(chart: Path) -> str:
    """Return the text that values.schema.json must have. Raises CommentError."""
    return json.dumps(schema_of((chart / "values.yaml").read_text("utf-8")), indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the schema, or check it; return the exit code."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true", help="write nothing, exit 1 when the file is not fresh")
    target = CHART / "values.schema.json"
    try:
        text = written(CHART)
    except CommentError as error:
        print(error, file=sys.stderr)
        return 1
    if not arguments.parse_args().check:
        target.write_text(text, encoding="utf-8")
    elif not target.exists() or target.read_text("utf-8") != text:
        print(f"{target.name} does not follow values.yaml: run tools/values_schema.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
