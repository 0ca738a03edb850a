"""What Kafka's client raises is said in words."""

from __future__ import annotations

import pytest
from aiokafka import errors as kafka
from support.tables import each

from schemas.log import LogError, LogUnavailable
from streams.transports.kafka.errors import ask_why, translated

BOOTSTRAP = "Unable to bootstrap from [('127.0.0.1', 9092, <AddressFamily.AF_INET: 2>), ('b', 9093, 0)]"


@each(
    ("error", "words"),
    [
        (kafka.KafkaConnectionError(BOOTSTRAP), "nobody listens at 127.0.0.1:9092, b:9093"),
        (TimeoutError(), "not in time"),
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
        (kafka.TopicAuthorizationFailedError(), "not authorized"),
        (kafka.InvalidReplicationFactorError("Replication factor: 3 larger than brokers: 1."), "larger than brokers"),
        (kafka.GroupCoordinatorNotAvailableError(), "coordinator"),
    ],
)
def test_an_error_of_the_client_is_a_sentence(error: Exception, words: str):
    with pytest.raises(LogError) as told, translated("connecting"):
        raise error
    said = str(told.value)
    assert words in said
    assert type(error).__name__ not in said
    assert "[Error" not in said


@each(
    "error",
    [
        kafka.IncompatibleBrokerVersion("Kafka broker does not support the 'DeleteRecordsRequest' Kafka protocol."),
        kafka.UnsupportedVersionError(),
        kafka.GroupAuthorizationFailedError(),
        kafka.TransactionalIdAuthorizationFailed(),
    ],
)
def test_what_stays_as_it_is_is_not_tried_again(error: Exception):
    with pytest.raises(LogError) as told, translated("removing"):
        raise error
    assert not isinstance(told.value, LogUnavailable)


async def test_a_host_whose_name_is_not_known_is_named():
    with (
        pytest.raises(LogUnavailable, match=r"nobody knows the name nowhere\.invalid \(.+\)"),
        translated("connecting"),
    ):
        await ask_why(["nowhere.invalid:9092", "127.0.0.1:9"], {})
