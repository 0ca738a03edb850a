"""TLS: what a server shows follows its files, and connections that stand go on."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from support.certificates import Authority

from mnemolog import tls
from mnemolog.tls import CertificateFiles, TlsFailed, client_context, ends_at, server_context

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the files for every connection."""
    monkeypatch.setattr(tls, "LOOK_EVERY_SECONDS", 0.0)


@asynccontextmanager
async def listening(files: CertificateFiles) -> AsyncIterator[int]:
    """Send back each line that is received; give the port."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0, ssl=server_context(files))
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def said_back(connection: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> bytes:
    connection[1].write(b"still there\n")
    return await asyncio.wait_for(connection[0].readline(), 120)


def number_of(connection: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> int:
    """Return the serial number of the certificate that the server has shown."""
    shown = connection[1].get_extra_info("ssl_object").getpeercert(binary_form=True)
    return x509.load_der_x509_certificate(shown).serial_number


def number_in(file: Path) -> int:
    return x509.load_pem_x509_certificate(file.read_bytes()).serial_number


async def test_a_renewed_certificate_is_shown_to_who_connects_next_and_nobody_is_dropped(tmp_path: Path):
    authority = Authority(tmp_path)
    certificate, key = authority.issue("server")
    first = number_in(certificate)
    async with listening(CertificateFiles(certificate, key)) as port:
        before = await asyncio.open_connection("127.0.0.1", port, ssl=client_context(authority.certificate))
        assert number_of(before) == first
        authority.issue("server")
        after = await asyncio.open_connection("127.0.0.1", port, ssl=client_context(authority.certificate))
        assert number_of(after) == number_in(certificate) != first
        assert await said_back(before) == await said_back(after) == b"still there\n"
        certificate.write_text("half of it")
        again = await asyncio.open_connection("127.0.0.1", port, ssl=client_context(authority.certificate))
        assert number_of(again) == number_of(after), "the former one, until the file can be used again"
        for _, writer in (before, after, again):
            writer.close()


async def test_an_authority_that_is_replaced_lets_in_those_of_the_new_one_only(tmp_path: Path):
    old, new = Authority(tmp_path / "old"), Authority(tmp_path / "new")
    trusted = tmp_path / "clients.pem"
    trusted.write_bytes(old.certificate.read_bytes())
    certificate, key = old.issue("server")
    members = {"old": CertificateFiles(*old.issue("one")), "new": CertificateFiles(*new.issue("two"))}

    async def is_let_in(shown: CertificateFiles | None) -> bool:
        context = client_context(old.certificate, shown)
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        try:
            return await said_back((reader, writer)) == b"still there\n"
        except (ssl.SSLError, ConnectionError):  # with TLS 1.3 the refusal comes after the handshake
            return False
        finally:
            writer.close()

    async with listening(CertificateFiles(certificate, key, trusted)) as port:
        assert [await is_let_in(shown) for shown in (None, members["old"], members["new"])] == [False, True, False]
        trusted.write_bytes(new.certificate.read_bytes())
        assert [await is_let_in(shown) for shown in (None, members["old"], members["new"])] == [False, False, True]


async def test_who_trusts_another_authority_makes_no_connection(tmp_path: Path):
    authority, other = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    files = CertificateFiles(*authority.issue("server"))
    assert server_context(files).minimum_version is ssl.TLSVersion.TLSv1_2
    async with listening(files) as port:
        for context in (client_context(other.certificate), client_context(None)):
            assert context.minimum_version is ssl.TLSVersion.TLSv1_2
            with pytest.raises(ssl.SSLCertVerificationError):
                await asyncio.open_connection("127.0.0.1", port, ssl=context)


def test_what_cannot_be_used_is_named(tmp_path: Path):
    authority = Authority(tmp_path)
    certificate, key = authority.issue("server")
    other = authority.issue("other")
    with pytest.raises(TlsFailed, match=r"none.pem .*No such file"):
        server_context(CertificateFiles(tmp_path / "none.pem", key))
    with pytest.raises(TlsFailed, match="key values mismatch"):
        server_context(CertificateFiles(certificate, other.key))
    with pytest.raises(TlsFailed, match=f"{key} cannot be used as certificates of authorities"):
        server_context(CertificateFiles(certificate, key, key))
    with pytest.raises(TlsFailed, match="cannot be read as a certificate"):
        ends_at(key)
    assert ends_at(certificate).tzinfo is not None
