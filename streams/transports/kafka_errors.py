"""What Kafka's errors mean for a log: try again, create the topic, or a person has to look."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from aiokafka import errors as kafka

from schemas.log import LogError, LogUnavailable, UnknownTopic

if TYPE_CHECKING:
    from collections.abc import Iterator

# They stay as they are until somebody changes a setting or a right.
_NEEDS_A_PERSON = (
    kafka.AuthenticationFailedError,
    kafka.AuthenticationMethodNotSupported,
    kafka.ClusterAuthorizationFailedError,
    kafka.TopicAuthorizationFailedError,
    kafka.MessageSizeTooLargeError,
    kafka.RecordListTooLargeError,
    kafka.InvalidTopicError,
    kafka.InvalidReplicationFactorError,
    kafka.InvalidConfigurationError,
    kafka.PolicyViolationError,
)


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Raise LogUnavailable, UnknownTopic or LogError instead of Kafka's errors and time-outs; `doing` says at what."""
    try:
        yield
    except kafka.UnknownTopicOrPartitionError as error:
        raise UnknownTopic(f"{doing}: the topic is not there any more: `mnemolog topics create` creates it") from error
    except _NEEDS_A_PERSON as error:
        raise LogError(f"{doing}: Kafka refuses: {error!r}") from error
    except (TimeoutError, kafka.KafkaError, OSError) as error:
        raise LogUnavailable(f"{doing}: Kafka does not answer ({error!r}): try again") from error
