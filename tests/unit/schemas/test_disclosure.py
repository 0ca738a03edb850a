"""What is told of addresses and errors: enough to act on, no secret and no user's word."""

from __future__ import annotations

import json

from support.tables import each

from schemas.disclosure import describe, masked, trace
from schemas.log import LogError


@each(
    ("value", "shown"),
    [
        ("kafka://a:9092,b:9092", "kafka://a:9092,b:9092"),
        ("weaviate://h:8080?grpc=50051", "weaviate://h:8080?grpc=50051"),
        ("http://bob:p@ss/w@h:1/v1", "http://…@h:1/v1"),
        ("bob:pass@h", "…@h"),
        ("https://h/v1?token=abc&n=5&key=x1", "https://h/v1?…"),
        ("http://bob:p#w?@h", "http://…"),
        ("no", "no"),
    ],
)
def test_an_address_is_shown_without_its_secrets(value: str, shown: str):
    assert masked(value) == shown


def test_an_error_that_quotes_what_it_met_is_told_by_its_type():
    assert describe(ValueError("invalid literal for int(): 'I am ill'")) == "ValueError"
    assert describe(KeyError("I am ill")) == "KeyError"
    assert describe(LogError("the log is away")) == "LogError: the log is away"
    assert describe(OSError(28, "No space left on device")) == "OSError: [Errno 28] No space left on device"


def test_a_traceback_says_where_and_why_without_quoting():
    try:
        try:
            json.loads("I am ill")
        except ValueError as error:
            raise LogError("the record cannot be read") from error
    except LogError as error:
        text = trace(error)
    assert text.index("JSONDecodeError") < text.index("LogError: the record cannot be read")
    assert "test_disclosure.py" in text
    assert "char 0" not in text
    assert "I am ill'" not in text
