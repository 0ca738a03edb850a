"""TLS: a worker's certificate, and the authorities that it trusts. Renewed files are read again.

A connection keeps its certificates; the next connection uses the current files. No connection is dropped.
"""

from __future__ import annotations

import logging
import ssl
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

import httpx
from cryptography import x509

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

LOOK_EVERY_SECONDS: Final = 1.0
"""The files are checked at most this often, when a connection begins."""

log = logging.getLogger("mnemolog.tls")


class TlsFailed(Exception):
    """A certificate, a key or an authority cannot be used; the message names the file."""


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """The PEM files of a worker: its chain, its key, and the authority of the clients that may connect."""

    certificate: Path
    key: Path | None = None
    """The file of the key; None if the certificate's file contains it."""
    client_authority: Path | None = None
    """The authority whose certificates clients must present; None if they need no certificate."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that are set."""
        return tuple(file for file in (self.certificate, self.key, self.client_authority) if file is not None)


class Renewed:
    """A TLS context that is created again when its files change; the old one stays while they are unusable."""

    def __init__(self, files: Sequence[Path], make: Callable[[], ssl.SSLContext]) -> None:
        """Create the context. Raises TlsFailed."""
        self._files = files
        self._make = make
        self._states = [_state(file) for file in files]
        self._context = make()
        self._looked = time.monotonic()

    @property
    def context(self) -> ssl.SSLContext:
        """The current context."""
        if time.monotonic() - self._looked >= LOOK_EVERY_SECONDS:
            self._looked = time.monotonic()
            states = [_state(file) for file in self._files]
            if states != self._states:
                self._states = states  # unusable files are not retried until they change
                self._read_again()
        return self._context

    def _read_again(self) -> None:
        try:
            self._context = self._make()
        except TlsFailed as error:
            log.warning("%s; new connections get what was there before", error)
        else:
            log.info("%s: read again, for new connections", ", ".join(map(str, self._files)))


def _state(file: Path) -> tuple[int, int, int] | None:
    """Return a file's identity, time and size, which change with its content; None if there is no file."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def server_context(files: CertificateFiles) -> ssl.SSLContext:
    """Return the context of a server, which follows its files. Raises TlsFailed."""
    renewed = Renewed(files.paths, partial(_server, files))
    context = _server(files)

    def choose(connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        """Give a new connection the current certificate and authority."""
        connection.context = renewed.context

    context.sni_callback = choose  # called for every connection, whether or not it names a server
    return context


def _server(files: CertificateFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_TICKET  # a resumed session would not be asked for its certificate again
    context.num_tickets = 0
    _load(context, files)
    if files.client_authority is not None:
        _trust(context, files.client_authority)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def client_context(authority: Path | None, shown: CertificateFiles | None = None) -> ssl.SSLContext:
    """Return the context of a client that trusts one authority; None trusts the system's, or SSL_CERT_FILE's.

    `shown` is the client's own certificate. Raises TlsFailed.
    """
    if authority is None:
        context = httpx.create_ssl_context()
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        _trust(context, authority)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if shown is not None:
        _load(context, shown)
    return context


def _load(context: ssl.SSLContext, files: CertificateFiles) -> None:
    try:
        context.load_cert_chain(files.certificate, files.key, password=_no_password)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        where = files.certificate if files.key is None else f"{files.certificate} and {files.key}"
        raise TlsFailed(f"{where} cannot be used as a certificate and its key: {_reason(error)}") from error


def _no_password() -> str:
    raise ValueError("the key has a passphrase: write it without one")


def _trust(context: ssl.SSLContext, authority: Path) -> None:
    try:
        context.load_verify_locations(authority)
    except OSError as error:
        raise TlsFailed(f"{authority} cannot be used as certificates of authorities: {_reason(error)}") from error


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or "it is no PEM").replace("_", " ").lower()
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def ends_at(certificate: Path) -> datetime:
    """Return the expiry of the first certificate in a file, in UTC. Raises TlsFailed."""
    try:
        return x509.load_pem_x509_certificate(certificate.read_bytes()).not_valid_after_utc.astimezone(UTC)
    except (OSError, ValueError) as error:
        raise TlsFailed(f"{certificate} cannot be read as a certificate: {_reason(error)}") from error
