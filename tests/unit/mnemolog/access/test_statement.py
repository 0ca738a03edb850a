"""A principal that one worker states to another: the same there, for a moment, and never a wider one."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import orjson
import pytest
from support.tables import each

from mnemolog.access.principal import LOCAL, Principal, Role
from mnemolog.access.statement import VALID_SECONDS, NoStatement, read_statement, write_statement

NOON = 1_700_000_000.0
NARROW = Principal("acme", frozenset({Role.READ, Role.WRITE}), "k1", ("u-*", "用户"), ("luna",))


@pytest.mark.parametrize("principal", [LOCAL, NARROW, Principal("acme", frozenset(), None, (), ())])
def test_a_principal_is_the_same_at_the_other_worker(principal: Principal):
    text = write_statement(principal, NOON)
    assert text.isascii()
    assert read_statement(text, NOON + VALID_SECONDS) == principal


def test_it_is_stated_for_a_moment():
    with pytest.raises(NoStatement, match="61 s ago"):
        read_statement(write_statement(NARROW, NOON), NOON + VALID_SECONDS + 1)


def test_a_role_that_is_not_known_here_gives_nothing():
    stated = {"tenant": "a", "roles": ["read", "root"], "key_id": None, "users": None, "agents": None, "until": NOON}
    read = read_statement(urlsafe_b64encode(orjson.dumps(stated | {"newer": 1})).decode(), NOON)
    assert read.roles == {Role.READ}


@each("text", ["", "x", "e30=", "é", urlsafe_b64encode(b'{"tenant": "a"}').decode()])
def test_what_states_nobody_is_refused(text: str):
    with pytest.raises(NoStatement):
        read_statement(text, NOON)
