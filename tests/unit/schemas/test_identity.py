"""Owners and derived ids: from the cause, the same every time, and never the same for different causes."""

from __future__ import annotations

from uuid import UUID, uuid5

import pytest
from support.examples import MONDAY, XIAOMING, envelope, later
from support.tables import each

from schemas.identity import (
    GLOBAL_USER,
    NAMESPACE,
    InvalidOwner,
    Owner,
    check_id,
    check_tenant,
    check_user_id,
    commanded_memory_id,
    derived_id,
    event_of_piece,
    extracted_memory_id,
    partition_owner,
    piece_id,
)
from schemas.topics import (
    GLOBALS,
    INBOX,
    KEYS,
    LEDGER,
    POLICIES,
    REPLACEMENTS,
    TOPICS,
    WEBHOOK_PROGRESS,
    WEBHOOKS,
    partition_of,
)


@each("user_id", ["u1", "a/b/c", "张三", "with space", "/", "u" * 256, "**"])
def test_a_key_is_split_at_the_first_slash_and_comes_back(user_id: str):
    owner = Owner("acme", user_id)
    assert owner.key == f"acme/{user_id}".encode()
    assert Owner.of_key(owner.key) == owner
    assert check_user_id(user_id) == user_id


@pytest.mark.parametrize(("key", "match"), [(b"no-slash", "no slash"), (b"", "no slash"), (b"\xff/u", "not UTF-8")])
def test_a_key_that_names_no_owner_is_refused(key: bytes, match: str):
    with pytest.raises(InvalidOwner, match=match):
        Owner.of_key(key)


@each(
    ("user_id", "match"),
    [("", "empty"), ("*", "reserved"), ("u" * 257, "257"), ("a\nb", "control"), ("a\x85", "control")],
)
def test_user_ids_that_upstream_may_not_use_say_why(user_id: str, match: str):
    with pytest.raises(InvalidOwner, match=match):
        check_user_id(user_id)


@each("tenant", ["", "*", "UPPER", "a" * 64, "a/b", "a b", "default\n"])
def test_tenants_are_lower_case_letters_digits_and_dashes(tenant: str):
    with pytest.raises(InvalidOwner, match="must match"):
        check_tenant(tenant)
    assert check_tenant("a-1_b") == "a-1_b"


@pytest.mark.parametrize(
    "name", [".", "..", "%2e", ".%2E", "%2e%2e", "a/..", "../a", "a/./b", "..\\a", "a%2f..", "..%5Ca", "..?x", "..#"]
)
def test_what_leads_elsewhere_in_a_path_is_no_id(name: str):
    with pytest.raises(InvalidOwner, match="step in a path"):
        check_user_id(name)
    with pytest.raises(ValueError, match="step in a path"):
        check_id(name)


@pytest.mark.parametrize("name", ["...", "a.b", ".a", "a.", "a/b", "a..b", "%2f", "2.5%", "张三/..x", "a?..", "-"])
def test_dots_within_a_name_lead_nowhere(name: str):
    assert check_user_id(name) == check_id(name) == name


def test_the_reserved_owners_are_told_apart():
    assert (partition_owner(3), partition_owner(3).key) == (Owner("*", "3"), b"*/3")
    assert partition_owner(3).is_partition
    assert not partition_owner(3).is_global
    assert Owner("acme", GLOBAL_USER).is_global
    assert not Owner("acme", GLOBAL_USER).is_partition
    assert not XIAOMING.is_global
    assert not XIAOMING.is_partition


def test_ids_are_uuids_that_never_change():
    """Written down: an id that changes with a version would form every memory again."""
    assert derived_id("a", 1) == "87280410-19d1-509f-8d7d-ebc7cb90ae98"
    assert UUID(derived_id("a", 1)).version == 5
    assert extracted_memory_id(XIAOMING, "t-1#0", 0, "rules", "p") == FIRST
    assert commanded_memory_id(XIAOMING, "c-1") == COMMANDED


def test_ids_are_the_uuid5_of_their_cause():
    assert [derived_id("cause", number) for number in range(64)] == [
        str(uuid5(NAMESPACE, f"cause\x1f{number}")) for number in range(64)
    ]


def test_an_owner_is_the_same_for_all_who_ask():
    assert Owner.of("default", "xiaoming") is Owner.of("default", "xiaoming")
    assert Owner.of("default", "xiaoming") == XIAOMING
    assert envelope("e-1").owner is envelope("e-2").owner


FIRST = "0a465310-1486-599f-b59e-1d51162cbaf1"
COMMANDED = "b796c900-2f92-55b8-a1bf-39e36aedcadf"


def test_every_part_of_the_cause_makes_another_id():
    cause = (XIAOMING, "t-1#0", 0, "rules", "p")
    others = [
        (Owner("acme", "xiaoming"), *cause[1:]),
        (Owner("default", "xiaohong"), *cause[1:]),
        (XIAOMING, "t-1#1", 0, "rules", "p"),
        (XIAOMING, "t-1#0", 1, "rules", "p"),
        (XIAOMING, "t-1#0", 0, "model", "p"),
        (XIAOMING, "t-1#0", 0, "rules", "q"),
    ]
    assert len({extracted_memory_id(*c) for c in [cause, *others]}) == 7
    assert derived_id("ab", "c") != derived_id("a", "bc")


@each("event_id", ["t-1", "with#hash", "a#0", "#"])
def test_a_piece_names_its_observation(event_id: str):
    assert event_of_piece(piece_id(event_id, 12)) == event_id


def test_following_copies_the_cause():
    cause = envelope("t-1")
    effect = cause.follow("d-1")
    assert (effect.event_id, effect.causation_id, effect.correlation_id) == ("d-1", "t-1", "t-1")
    assert (effect.owner, effect.agent_id, effect.occurred_at) == (cause.owner, cause.agent_id, MONDAY)
    later_effect = effect.follow("d-2", occurred_at=later(hours=1))
    assert (later_effect.causation_id, later_effect.correlation_id) == ("d-1", "t-1")
    assert later_effect.occurred_at == later(hours=1)


@pytest.mark.parametrize(
    ("key", "partition"), [(b"default/xiaoming", 0), (b"default/owner", 2), ("default/张三".encode(), 1)]
)
def test_a_key_finds_its_partition_as_kafkas_java_client_does(key: bytes, partition: int):
    assert partition_of(key, 8) == partition == java_murmur2(key) % 8


def java_murmur2(data: bytes) -> int:
    """Return what org.apache.kafka.common.utils.Utils computes, written from its definition."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = (0x9747B28C ^ len(data)) & mask
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little") * m & mask
        k = (k ^ (k >> 24)) * m & mask
        h = (h * m & mask) ^ k
    rest = data[whole:]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ (h >> 13)) * m & mask
    return (h ^ (h >> 15)) & 0x7FFFFFFF


def test_each_message_travels_on_its_topics_and_only_what_is_for_everyone_has_one_partition():
    single = [t.name for t in (GLOBALS, POLICIES, KEYS, REPLACEMENTS, WEBHOOKS, WEBHOOK_PROGRESS)]
    assert [t.name for t in TOPICS if t.single_partition] == single
    assert [t.name for t in TOPICS if t.expires] == [
        "mnemolog.conversations",
        "mnemolog.screenshots",
        "mnemolog.articles",
    ]
    assert LEDGER.messages == GLOBALS.messages
    assert not set(INBOX.messages) & set(LEDGER.messages)
