"""Bodies of requests, and how much is read into what callers that are programs and models write."""

from collections.abc import Collection, Mapping
from math import isfinite
from types import UnionType
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin

import orjson
from pydantic import GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from schemas.inputs.input_events import MAX_CONTENT_BYTES
from schemas.inputs.strict_object import StrictObject

MOST_DIGITS = 32
"""Characters of a number that a model writes as a text."""


class Body(StrictObject):
    """A JSON body: an unknown field is refused, and no value is converted, but for what programs write.

    Null is left out where a field may be left out and has no null, and `5.0` is a whole number.
    """

    _without_null: ClassVar[frozenset[str]] = frozenset()
    _whole: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def __pydantic_init_subclass__(cls, **more: Any) -> None:  # noqa: ANN401 - pydantic's own
        """Look which fields may be left out, and which are whole numbers."""
        super().__pydantic_init_subclass__(**more)
        fields = {field.alias or name: field for name, field in cls.model_fields.items()}
        takes = {name: _types_of(field.annotation) for name, field in fields.items()}
        lack = {name for name, types in takes.items() if types.isdisjoint({type(None), Any})}
        cls._without_null = frozenset(name for name in lack if not fields[name].is_required())
        cls._whole = frozenset(name for name, types in takes.items() if int in types and float not in types)

    @model_validator(mode="before")
    @classmethod
    def _as_meant(cls, value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
        if not isinstance(value, dict):
            return value
        left_out = [name for name in cls._without_null if name in value and value[name] is None]
        whole = [name for name in cls._whole if isinstance(value.get(name), float) and value[name].is_integer()]
        if not left_out and not whole:
            return value
        meant = {name: one for name, one in value.items() if name not in left_out}
        return meant | {name: int(value[name]) for name in whole}

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Have the document say where null is taken."""
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name in cls._without_null & properties.keys():
            properties[name] = _or(properties[name], "null")
        return schema


class FromModel(Body):
    """The arguments of a tool, which a model wrote: numbers, lists and the whole may be texts."""

    _numbers: ClassVar[frozenset[str]] = frozenset()
    _lists: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def __pydantic_init_subclass__(cls, **more: Any) -> None:  # noqa: ANN401 - pydantic's own
        """Look which fields are numbers, and which are lists."""
        super().__pydantic_init_subclass__(**more)
        takes = {name: _types_of(field.annotation) for name, field in cls.model_fields.items()}
        cls._numbers = frozenset(name for name, types in takes.items() if types & {int, float})
        cls._lists = frozenset(name for name, types in takes.items() if list in types)

    @model_validator(mode="before")
    @classmethod
    def _as_written(cls, value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
        return as_written(value, cls._numbers, cls._lists)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Have the document say where a text is taken, too."""
        schema = super().__get_pydantic_json_schema__(core_schema, handler)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name in (cls._numbers | cls._lists) & properties.keys():
            properties[name] = _or(properties[name], "string")
        return schema


def as_written(value: Any, numbers: Collection[str], lists: Collection[str]) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return arguments that a model wrote, with its texts for numbers and lists, and for the whole, as what they spell.

    What spells nothing stays as it is, for whoever checks it.
    """
    value = _spelt(value, dict)
    if not isinstance(value, Mapping):
        return value
    meant = dict(value)
    for name in numbers:
        if isinstance(given := value.get(name), str):
            meant[name] = _number(given)
    for name in lists:
        if isinstance(given := value.get(name), str):
            found = _spelt(given, list)
            meant[name] = found if isinstance(found, list) else [given]
    return meant


def _spelt(value: Any, wanted: type) -> Any:  # noqa: ANN401 - any JSON
    if not isinstance(value, str) or len(value) > MAX_CONTENT_BYTES:
        return value
    try:
        found = orjson.loads(value)
    except orjson.JSONDecodeError:
        return value
    return found if isinstance(found, wanted) else value


def _number(text: str) -> float | str:
    try:
        number = float(text) if len(text) <= MOST_DIGITS else float("nan")
    except ValueError:
        return text
    if not isfinite(number):
        return text
    return int(number) if number.is_integer() else number


def _types_of(annotation: Any) -> frozenset[Any]:  # noqa: ANN401 - any annotation
    """Return the plain types that an annotation takes, those of a union among them."""
    if get_origin(annotation) is Annotated:
        return _types_of(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return frozenset(one for part in get_args(annotation) for one in _types_of(part))
    return frozenset({get_origin(annotation) or annotation})


def _or(schema: JsonSchemaValue, kind: str) -> JsonSchemaValue:
    kept: JsonSchemaValue = {name: one for name, one in schema.items() if name in ("default", "description", "title")}
    rest = {name: one for name, one in schema.items() if name not in kept}
    return {"anyOf": [*(rest["anyOf"] if rest.keys() == {"anyOf"} else [rest]), {"type": kind}], **kept}
