"""How an endpoint's dialect is found out and remembered."""

from __future__ import annotations

import pytest

from streams.extraction.model.dialect import Dialect, Negotiation, Refusal

SCHEMA, OBJECT, NONE = Dialect(), Dialect(form="json_object"), Dialect(form="none")
BAD_REQUEST = Refusal(400, None, "bad request")
SERVER_ERROR = Refusal(500, None, "internal error")


def test_the_first_question_asks_for_the_most():
    assert Negotiation().settled == SCHEMA


@pytest.mark.parametrize("refusal", [BAD_REQUEST, SERVER_ERROR])
def test_a_new_endpoint_is_asked_in_every_form_before_an_error_is_believed(refusal: Refusal):
    negotiation = Negotiation()
    assert [negotiation.after(dialect, refusal) for dialect in (SCHEMA, OBJECT, NONE)] == [OBJECT, NONE, None]


@pytest.mark.parametrize("refusal", [BAD_REQUEST, SERVER_ERROR])
def test_an_error_in_a_dialect_that_was_accepted_is_about_something_else(refusal: Refusal):
    negotiation = Negotiation()
    negotiation.accepted(SCHEMA, server_errors=False)
    assert negotiation.after(SCHEMA, refusal) is None


def test_an_error_that_names_the_form_is_about_it_even_so():
    negotiation = Negotiation()
    negotiation.accepted(SCHEMA, server_errors=False)
    assert negotiation.after(SCHEMA, Refusal(400, "response_format", "not supported")) == OBJECT


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
