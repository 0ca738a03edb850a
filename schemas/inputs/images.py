"""Images that a screenshot carries instead of text: their limits, and whether a model can see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_IMAGE_BYTES: Final = 700 * 1024
"""The largest image: as base64 in JSON it still fits into a record of 1 MiB."""
MAX_URL_CHARACTERS: Final = 2048
_WEBP: Final = (b"RIFF", b"WEBP")
_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def media_type(image: bytes) -> str | None:
    """Return the media type of an image by its first bytes: PNG, JPEG, GIF or WebP; None for anything else."""
    if image[:4] == _WEBP[0] and image[8:12] == _WEBP[1]:
        return "image/webp"
    return next((name for magic, name in _MAGIC if image.startswith(magic)), None)


def image_faults(text: str, image: bytes | None, image_url: str | None) -> Iterator[tuple[str, str]]:
    """Yield the faults of a screenshot's image, as JSON path and message; nothing if it has no image."""
    given = [name for name, value in (("image", image), ("image_url", image_url)) if value is not None]
    if given and text.strip():
        yield (f"$.{given[0]}", "stands instead of text: give one of them")
    if len(given) > 1:
        yield ("$.image_url", "stands instead of image: give one of them")
    if image is not None and len(image) > MAX_IMAGE_BYTES:
        yield ("$.image", f"has {len(image)} bytes: at most {MAX_IMAGE_BYTES} are allowed, make it smaller")
    elif image is not None and media_type(image) is None:
        yield ("$.image", "is no PNG, JPEG, GIF or WebP")
    if image_url is not None and (len(image_url) > MAX_URL_CHARACTERS or _host(image_url) is None):
        yield ("$.image_url", f"must be an https URL of at most {MAX_URL_CHARACTERS} characters, without a password")


@dataclass(frozen=True, slots=True)
class VisionPolicy:
    """The settings for images: whether the model sees them, and from which hosts."""

    sees: bool = False
    hosts: frozenset[str] = frozenset()
    """The allowed hosts, in lower case. A URL is passed on to the model; mnemolog never fetches it."""

    def refusal(self, image: bytes | str) -> str | None:
        """Return the reason why the model cannot see an image (its bytes, or its URL); None if it can."""
        if not self.sees:
            return "no model here sees images: set MNEMOLOG_LLM_VISION=true for one that does, or send the text on it"
        if isinstance(image, str) and _host(image) not in self.hosts:
            return f"{_host(image)!r} is none of the hosts that images may lie on: add it to MNEMOLOG_IMAGE_HOSTS"
        return None


def _host(url: str) -> str | None:
    """Return an https URL's host (with its port unless it is 443) in lower case; None for other values."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme != "https" or not parts.hostname or "@" in parts.netloc or not url.isprintable() or " " in url:
        return None
    return parts.hostname if port in (None, 443) else f"{parts.hostname}:{port}"
