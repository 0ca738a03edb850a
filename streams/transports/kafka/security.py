"""Connections to brokers: in plain text or by TLS, with or without SASL, for our own clients and for Faust's."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from schemas.log import LogError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSecurity:
    """The connection settings, by Kafka's own names. The password is never shown.

    Without a `cafile`, the system's CA certificates are used.
    """

    protocol: str = "PLAINTEXT"
    """PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""
    mechanism: str = "PLAIN"
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    cafile: Path | None = None
    certfile: Path | None = None
    keyfile: Path | None = None

    def connection(self) -> dict[str, Any]:
        """Return the arguments for aiokafka's clients. Raises LogError for a file that cannot be used."""
        arguments: dict[str, Any] = {"security_protocol": self.protocol, "ssl_context": self._context()}
        if self.protocol.startswith("SASL_"):
            arguments["sasl_mechanism"] = self.mechanism
            arguments["sasl_plain_username"] = self.username
            arguments["sasl_plain_password"] = self.password
        return arguments

    def credentials(self) -> Any:  # noqa: ANN401 - Faust's credentials, or None
        """Return Faust's credentials, None for plain connections. Raises LogError for a file that cannot be used."""
        from faust.auth import SASLCredentials, SSLCredentials  # noqa: PLC0415 - not for commands that run no agents

        context = self._context()
        if self.protocol.startswith("SASL_"):
            return SASLCredentials(
                username=self.username, password=self.password, ssl_context=context, mechanism=self.mechanism
            )
        return SSLCredentials(context) if context else None

    def _context(self) -> ssl.SSLContext | None:
        if not self.protocol.endswith("SSL"):
            return None
        try:
            context = ssl.create_default_context(cafile=self.cafile)
            if self.certfile is not None:
                context.load_cert_chain(self.certfile, self.keyfile, password=_no_password)
        except (OSError, ValueError) as error:
            files = ", ".join(str(f) for f in (self.cafile, self.certfile, self.keyfile) if f)
            raise LogError(f"TLS to Kafka: {files} cannot be used ({error}): correct MNEMOLOG_KAFKA_SSL_*") from error
        return context


def _no_password() -> str:
    """Raise ValueError: otherwise OpenSSL would prompt for a passphrase at the terminal."""
    raise ValueError("the key is encrypted: give one without a passphrase")
