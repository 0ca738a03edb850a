"""Starts a real Apache Kafka that accepts only TLS and SASL, with certificates made for the test."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from support.certificates import Authority
from support.free_ports import free_ports
from support.kafka_server import KafkaServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

USER, PASSWORD = "worker", "correct-horse"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
MORE = """
listeners=SASL_SSL://127.0.0.1:{port},SSL://127.0.0.1:{ssl},INTERNAL://127.0.0.1:{internal},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=SASL_SSL://127.0.0.1:{port},SSL://127.0.0.1:{ssl},INTERNAL://127.0.0.1:{internal}
inter.broker.listener.name=INTERNAL
listener.security.protocol.map=CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL
ssl.keystore.type=PEM
ssl.keystore.location={directory}/server.pem
ssl.truststore.type=PEM
ssl.truststore.location={directory}/ca.pem
listener.name.ssl.ssl.client.auth=required
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config={scram} required;
listener.name.sasl_ssl.plain.sasl.jaas.config={plain} required user_{user}="{password}";
"""


@contextmanager
def running_secure_kafka(directory: Path) -> Iterator[SecureKafka]:
    """Run a broker with its data and its certificates in `directory`."""
    server = SecureKafka(directory)
    server.start()
    try:
        yield server
    finally:
        server.stop()


class SecureKafka(KafkaServer):
    """One broker with a listener for SASL_SSL (PLAIN and SCRAM-SHA-512) and one for SSL with a client's certificate."""

    def __init__(self, directory: Path) -> None:
        """Make the certificates, and start nothing."""
        port, controller, ssl, internal = free_ports(4)
        ports = {"port": port, "controller": controller, "ssl": ssl, "internal": internal}
        more = MORE.format(directory=directory, scram=SCRAM, plain=PLAIN, user=USER, password=PASSWORD, **ports)
        user = ("--add-scram", f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]")
        super().__init__(directory, port, controller=controller, more=more, format_options=user)
        self.ssl_address = f"127.0.0.1:{ssl}"
        self.cafile, self.certfile, self.keyfile = (directory / f"{n}.pem" for n in ("ca", "client", "client-key"))
        make_certificates(directory)


def make_certificates(folder: Path) -> None:
    """Make an authority (ca.pem), a server's certificate with its key in one file, and a client's in two."""
    authority = Authority(folder)
    authority.issue("client")
    server = authority.issue("server")
    server.certificate.write_text(server.key.read_text() + server.certificate.read_text())
