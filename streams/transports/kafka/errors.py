"""The translation of Kafka's errors into those of a log: try again, create the topic, or change a setting."""

from __future__ import annotations

import re
import socket
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from aiokafka import errors as kafka

from schemas.log import LogError, LogUnavailable, UnknownTopic
from streams.transports.kafka.aiokafka_parts import collect_hosts, create_conn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_WRONG_CREDENTIALS = (
    kafka.AuthenticationFailedError,
    kafka.AuthenticationMethodNotSupported,
    kafka.UnsupportedSaslMechanismError,
    kafka.IllegalSaslStateError,
    kafka.SaslAuthenticationFailed,
)
_ADDRESS = re.compile(r"\('([^']+)', (\d+)")
# These persist until a setting or a permission is changed.
_NEEDS_A_PERSON = (
    kafka.ClusterAuthorizationFailedError,
    kafka.TopicAuthorizationFailedError,
    kafka.GroupAuthorizationFailedError,
    kafka.TransactionalIdAuthorizationFailed,
    kafka.IncompatibleBrokerVersion,
    kafka.UnsupportedVersionError,
    kafka.MessageSizeTooLargeError,
    kafka.RecordListTooLargeError,
    kafka.InvalidTopicError,
    kafka.InvalidReplicationFactorError,
    kafka.InvalidConfigurationError,
    kafka.PolicyViolationError,
)


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Raise LogUnavailable, UnknownTopic or LogError for Kafka's errors and timeouts; `doing` begins the message."""
    try:
        yield
    except kafka.UnknownTopicOrPartitionError as error:
        raise UnknownTopic(f"{doing}: the topic is not there any more: `mnemolog topics create` creates it") from error
    except _WRONG_CREDENTIALS as error:
        advice = "correct MNEMOLOG_KAFKA_SASL_USERNAME, MNEMOLOG_KAFKA_SASL_PASSWORD or MNEMOLOG_KAFKA_SASL_MECHANISM"
        raise LogError(f"{doing}: Kafka does not let this user in ({error}): {advice}") from error
    except ssl.SSLError as error:
        advice = "correct MNEMOLOG_KAFKA_SECURITY_PROTOCOL or MNEMOLOG_KAFKA_SSL_*"
        raise LogError(f"{doing}: no TLS connection to Kafka ({error}): {advice}") from error
    except _NEEDS_A_PERSON as error:
        raise LogError(f"{doing}: Kafka refuses: {sentence(error)}") from error
    except (TimeoutError, kafka.KafkaError, OSError) as error:
        raise LogUnavailable(f"{doing}: Kafka does not answer ({sentence(error)}): try again") from error


def sentence(error: BaseException) -> str:
    """Return an error's message without its class and number."""
    if isinstance(error, TimeoutError):
        return "not in time"
    message = str(error.args[0]) if error.args and isinstance(error.args[0], str) else ""
    if message.startswith("Unable to bootstrap"):
        return f"nobody listens at {', '.join(f'{host}:{port}' for host, port in _ADDRESS.findall(message))}"
    message = re.sub(r"^\[Error \d+\] ", "", message)
    return message or str(getattr(error, "description", "") or getattr(error, "strerror", "") or type(error).__name__)


async def ask_why(servers: Sequence[str], security: Mapping[str, Any]) -> None:
    """Raise the reason why no broker can be reached, if one is found: aiokafka only reports that it cannot connect."""
    unknown = []
    for host, port, _ in collect_hosts(list(servers)):
        try:
            connection = await create_conn(host, port, **security)
        except ssl.SSLError:
            raise
        except kafka.KafkaConnectionError as error:
            advice = "it wants TLS, perhaps: look at MNEMOLOG_KAFKA_SECURITY_PROTOCOL"
            raise kafka.KafkaConnectionError(f"{host}:{port} takes the connection and closes it: {advice}") from error
        except socket.gaierror as error:
            unknown.append(f"{host} ({error.strerror})")
            continue
        except (OSError, TimeoutError):
            continue
        if (closed := connection.close()) is not None:
            await closed
    if unknown:
        raise kafka.KafkaConnectionError(f"nobody knows the name {', '.join(unknown)}: look at MNEMOLOG_BROKER")
