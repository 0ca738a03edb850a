"""Weaviate's address, as the settings spell it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, urlsplit

SCHEMES: Final = ("weaviate", "weaviates")
USAGE: Final = "weaviate://host:8080?grpc=50051, or weaviates:// for TLS"


@dataclass(frozen=True, slots=True)
class WeaviateAddress:
    """`weaviate://host:8080?grpc=50051`, or `weaviates://` for TLS on both ports."""

    host: str
    http: int
    grpc: int
    secure: bool

    @classmethod
    def parse(cls, url: str) -> WeaviateAddress:
        """Parse an address. Raises ValueError with the reason."""
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = 0
        known = parts.scheme in SCHEMES and parts.hostname and parts.path in ("", "/") and not parts.fragment
        if not known or port == 0:
            raise ValueError(f"must be {USAGE}")
        if parts.username is not None:
            raise ValueError("takes no user and no password: the key goes into MNEMOLOG_WEAVIATE_API_KEY")
        asked = parse_qs(parts.query, keep_blank_values=True)
        if unknown := set(asked) - {"grpc"}:
            raise ValueError(f"has ?{min(unknown)}=, which is unknown: only ?grpc=PORT is known")
        grpc = asked.get("grpc", ["50051"])[-1]
        if not grpc.isdecimal() or not 0 < int(grpc) < 2**16:
            raise ValueError(f"has ?grpc={grpc}, which is no port")
        if int(grpc) == (port or 8080):
            raise ValueError(f"has port {grpc} for HTTP and for gRPC, which its client refuses: give each its own")
        return cls(str(parts.hostname), port or 8080, int(grpc), parts.scheme == "weaviates")

    @property
    def ready_url(self) -> str:
        """The URL that answers 2xx when Weaviate is ready."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.http}/v1/.well-known/ready"

    def __str__(self) -> str:
        return f"{SCHEMES[self.secure]}://{self.host}:{self.http}?grpc={self.grpc}"
