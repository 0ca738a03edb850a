"""Certificates made for a test: an authority, and the certificates that it signs."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

EXTENSIONS = "subjectAltName={names}\nauthorityKeyIdentifier=keyid:always\n"
LOOPBACK = "IP:127.0.0.1,DNS:localhost"


class Certificate(NamedTuple):
    """A certificate and its key, each in a PEM file."""

    certificate: Path
    key: Path


class Authority:
    """An authority in a folder. Whoever trusts its `certificate` trusts those that it signs."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._name = name
        self.certificate = folder / f"{name}.pem"
        usage = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
        subject = ("-subj", f"/CN=mnemolog-test-{name}")
        openssl(folder, "req", "-x509", *key(f"{name}-key.pem"), "-out", f"{name}.pem", *subject, *usage)

    def issue(self, name: str, names: str = LOOPBACK) -> Certificate:
        """Sign a new certificate for some host names; an earlier one of the same `name` is replaced."""
        (self._folder / "extensions").write_text(EXTENSIONS.format(names=names))
        openssl(self._folder, "req", *key(f"{name}-key.pem"), "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signing = ("-CA", f"{self._name}.pem", "-CAkey", f"{self._name}-key.pem", "-CAcreateserial")
        what = ("-in", f"{name}.csr", "-extfile", "extensions", "-days", "2", "-out", f"{name}.pem")
        openssl(self._folder, "x509", "-req", *signing, *what)
        return Certificate(self._folder / f"{name}.pem", self._folder / f"{name}-key.pem")


def key(file: str) -> tuple[str, ...]:
    """Return the options of openssl that make a new key in a file."""
    return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", file)


def openssl(folder: Path, *arguments: str) -> None:
    """Run openssl in a folder."""
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)  # noqa: S603, S607
