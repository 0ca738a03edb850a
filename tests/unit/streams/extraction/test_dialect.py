"""How an endpoint's dialect is found out and remembered."""

from __future__ import annotations

import pytest

from projections.refusal import Refusal
from streams.extraction.model.dialect import PLAINEST, Dialect, Negotiation

SCHEMA, OBJECT, NONE = Dialect(), Dialect(form="json_object"), Dialect(form="none")
BAD_REQUEST = Refusal(400, "bad request")
SERVER_ERROR = Refusal(500, "internal error")


def test_the_first_question_asks_for_the_most():
    assert Negotiation().settled == SCHEMA


@pytest.mark.parametrize(("refusal", "last"), [(BAD_REQUEST, PLAINEST), (SERVER_ERROR, None)])
def test_a_new_endpoint_is_asked_in_every_form_before_an_error_is_believed(refusal: Refusal, last: Dialect | None):
    negotiation = Negotiation()
    asked = [negotiation.after(dialect, refusal) for dialect in (SCHEMA, OBJECT, NONE, PLAINEST)]
    assert asked == [OBJECT, NONE, last, None]


def test_a_server_error_in_a_dialect_that_was_accepted_is_about_something_else():
    negotiation = Negotiation()
    negotiation.accepted(SCHEMA, server_errors=False)
    assert negotiation.after(SCHEMA, SERVER_ERROR) is None


def test_a_refusal_in_a_dialect_that_was_accepted_is_believed_when_the_plainest_is_refused_too():
    negotiation = Negotiation()
    negotiation.accepted(SCHEMA, server_errors=False)
    assert [negotiation.after(dialect, BAD_REQUEST) for dialect in (SCHEMA, PLAINEST)] == [PLAINEST, None]


def test_all_is_found_out_anew_where_the_plainest_is_accepted_in_the_place_of_what_was():
    negotiation = Negotiation()
    negotiation.accepted(OBJECT, server_errors=False)
    negotiation.accepted(PLAINEST, server_errors=False)
    assert negotiation.settled == SCHEMA
    assert negotiation.after(SCHEMA, BAD_REQUEST) == OBJECT


def test_all_is_found_out_anew_when_the_endpoint_names_another_model():
    negotiation = Negotiation()
    settled = []
    for model in ("a", "a", "b", "a", "b", None):
        negotiation.accepted(NONE, server_errors=False, model=model)
        settled.append(negotiation.settled)
    assert settled == [NONE, NONE, SCHEMA, NONE, NONE, NONE]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("`temperature` is deprecated for this model.", Dialect(temperature=False)),
        ("Sampling parameters are not allowed", Dialect(temperature=False)),
        ("Unsupported parameter: max_tokens. Use max_completion_tokens", Dialect(limit="max_completion_tokens")),
        ("max_tokens is too large: 4096", Dialect(limit=None)),
        ("System role not supported", Dialect(system=False)),
        ("Developer instruction is not enabled for this model", Dialect(system=False)),
        ("Conversation roles must alternate user/assistant/user/assistant/...", Dialect(system=False)),
        ("Only user and assistant roles are supported!", Dialect(system=False)),
        ("This model does not support structured output", OBJECT),
        ("Invalid JSON schema: unknown keyword anyOf", OBJECT),
        ("grammar is not supported", OBJECT),
        ("Your credit balance is too low", None),
        ('model "m" not found, try pulling it first', None),
    ],
)
def test_what_an_error_names_is_left_out_whether_it_was_accepted_before_or_not(words: str, expected: Dialect | None):
    negotiation = Negotiation()
    assert negotiation.after(SCHEMA, Refusal(400, words)) == expected
    negotiation.keep_to(SCHEMA)
    negotiation.accepted(SCHEMA, server_errors=False)
    assert negotiation.after(SCHEMA, Refusal(400, words)) == expected


def test_an_error_that_names_the_form_is_about_it_even_so():
    negotiation = Negotiation()
    negotiation.accepted(SCHEMA, server_errors=False)
    assert negotiation.after(SCHEMA, Refusal(400, "response_format\nnot supported")) == OBJECT


def test_a_form_is_not_given_up_for_server_errors_once_the_endpoint_has_accepted_it():
    negotiation = Negotiation()
    negotiation.accepted(SCHEMA, server_errors=False)
    for _ in range(5):
        negotiation.accepted(OBJECT, server_errors=True)
    assert negotiation.settled == SCHEMA


def test_a_form_that_only_ever_met_server_errors_is_given_up_after_three_windows():
    negotiation = Negotiation()
    seen = []
    for _ in range(3):
        negotiation.accepted(OBJECT, server_errors=True)
        seen.append(negotiation.settled)
    assert seen == [SCHEMA, SCHEMA, OBJECT]
