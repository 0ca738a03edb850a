"""TLS and SASL to a real Kafka: for the log, for the agents, and a clear sentence where the broker lets nobody in."""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from engines.test_sample_on_kafka import NOW
from support import secure_kafka_server
from support.secure_kafka_server import PASSWORD, USER, SecureKafka

from mnemolog.log.connection import opened_log
from mnemolog.sample import sample_events
from mnemolog.settings import from_environment
from mnemolog.worker.worker import Worker
from schemas.inputs.input_events import parse_event
from schemas.log import LogError, LogUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCRAM = {"kafka_security_protocol": "SASL_SSL", "kafka_sasl_mechanism": "SCRAM-SHA-512"}
PLAIN = {"kafka_security_protocol": "SASL_SSL", "kafka_sasl_mechanism": "PLAIN"}
LOGIN = {"kafka_sasl_username": USER, "kafka_sasl_password": PASSWORD}


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Collect what aiokafka leaves behind of a connection that a broker has refused: an open socket."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(scope="module")
def secure_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    """Run one broker for all tests of the file."""
    with secure_kafka_server.running_secure_kafka(tmp_path_factory.mktemp("secure")) as server:
        yield server


async def topics(server: str, folder: Path, **given: Any) -> int:
    """Return how many partitions a new topic has in a log that is opened with these settings."""
    async with opened_log(
        from_environment({}, encryption="off", broker=f"kafka://{server}", data_dir=folder, **given)
    ) as log:
        await log.create_topic("topic", 2)
        return await log.partitions("topic")


async def sample(folder: Path, **given: Any) -> dict[str, int]:
    """Run the sample through a worker; return its counts."""
    worker = Worker(from_environment({}, data_dir=folder, partitions=2, decay_policy="off", **given))
    await worker.start()
    try:
        messages = [parse_event(e, tenant="default", accepted_at=NOW, event_id="") for e in sample_events()]
        await worker.publisher.publish(messages)
        return await worker.drain.run_local(120.0)
    finally:
        await worker.stop()


async def test_a_worker_runs_the_sample_over_tls_with_scram(
    secure_kafka: SecureKafka, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    given = {
        "encryption": "off",
        "broker": f"kafka://{secure_kafka.address}",
        "kafka_ssl_cafile": secure_kafka.cafile,
        **SCRAM,
        **LOGIN,
    }
    counts = await sample(tmp_path / "kafka", **given)
    assert counts == await sample(tmp_path / "embedded")
    assert PASSWORD not in caplog.text


async def test_the_log_takes_plain_and_a_clients_certificate(secure_kafka: SecureKafka, tmp_path: Path):
    assert await topics(secure_kafka.address, tmp_path, kafka_ssl_cafile=secure_kafka.cafile, **PLAIN, **LOGIN) == 2
    files = {"kafka_ssl_certfile": secure_kafka.certfile, "kafka_ssl_keyfile": secure_kafka.keyfile}
    ssl = {"kafka_security_protocol": "SSL", "kafka_ssl_cafile": secure_kafka.cafile, **files}
    assert await topics(secure_kafka.ssl_address, tmp_path, **ssl) == 2


@pytest.mark.parametrize("mechanism", [SCRAM, PLAIN])
@pytest.mark.parametrize("wrong", [{"kafka_sasl_password": "wrong-battery"}, {"kafka_sasl_username": "nobody"}])
async def test_a_wrong_name_or_password_is_a_sentence(
    secure_kafka: SecureKafka, tmp_path: Path, mechanism: dict[str, str], wrong: dict[str, str]
):
    given = {"kafka_ssl_cafile": secure_kafka.cafile, **mechanism, **LOGIN, **wrong}
    with pytest.raises(LogError, match=r"does not let this user in.*correct MNEMOLOG_KAFKA_SASL_USERNAME"):
        await topics(secure_kafka.address, tmp_path, **given)


def test_a_worker_that_is_not_let_in_ends_with_that_sentence_and_never_tells_the_password(
    secure_kafka: SecureKafka, tmp_path: Path
):
    """When it may, aiokafka logs what it sends: with PLAIN that is the password."""
    given = {
        "kafka_ssl_cafile": secure_kafka.cafile,
        **PLAIN,
        **LOGIN,
        "kafka_sasl_username": "nobody",
        "log_level": "debug",
    }
    environment = {f"MNEMOLOG_{name.upper()}": str(value) for name, value in given.items()}
    environment["MNEMOLOG_ENCRYPTION"] = "off"
    environment["MNEMOLOG_BROKER"] = f"kafka://{secure_kafka.address}"
    command = [sys.executable, "-m", "mnemolog", "up", "--port", "0", "--data", str(tmp_path)]
    ended = subprocess.run(  # noqa: S603 - ourselves
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=180, check=False
    )
    assert ended.returncode == 1
    assert "mnemolog cannot start: connecting: Kafka does not let this user in" in ended.stderr
    assert PASSWORD not in ended.stdout + ended.stderr


async def test_a_mechanism_that_the_broker_does_not_offer_is_a_sentence(secure_kafka: SecureKafka, tmp_path: Path):
    other = {"kafka_security_protocol": "SASL_SSL", "kafka_sasl_mechanism": "SCRAM-SHA-256"}
    with pytest.raises(LogError, match="SASL_MECHANISM"):
        await topics(secure_kafka.address, tmp_path, kafka_ssl_cafile=secure_kafka.cafile, **other, **LOGIN)


async def test_a_certificate_that_nobody_vouches_for_is_a_sentence(secure_kafka: SecureKafka, tmp_path: Path):
    with pytest.raises(LogError, match=r"no TLS connection to Kafka.*correct MNEMOLOG_KAFKA_SECURITY_PROTOCOL or"):
        await topics(secure_kafka.address, tmp_path, **SCRAM, **LOGIN)


async def test_a_file_that_cannot_be_used_is_a_sentence(tmp_path: Path):
    (tmp_path / "ca.pem").write_text("no certificate")
    for file in ("ca.pem", "none.pem"):
        with pytest.raises(LogError, match=f"{file} cannot be used"):
            await topics("127.0.0.1:1", tmp_path, kafka_ssl_cafile=tmp_path / file, **SCRAM, **LOGIN)


async def test_speaking_in_clear_to_a_broker_that_wants_tls_is_a_sentence(secure_kafka: SecureKafka, tmp_path: Path):
    with pytest.raises(LogUnavailable, match="MNEMOLOG_KAFKA_SECURITY_PROTOCOL"):
        await topics(secure_kafka.address, tmp_path)
