"""Spellings of texts: the one that exact duplicates share, the keys made from it, and the one on a single line."""

from __future__ import annotations

import hashlib
import unicodedata

from schemas.visible_text import visible

DIGEST_BYTES = 16

_FULL_STOPS = "。．."
_UNSEEN = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})


def normalised(text: str) -> str:
    """Return the spelling that exact duplicates share. Normalising twice changes nothing more.

    NFKC and case folded; runs of white space collapsed to one space, none at either end; final full stops (`。`, `.`,
    `．`) dropped. All other punctuation stays. A text of full stops only gives the empty text.
    """
    # Folding can undo the composition (and composing can bring back what folds), so each is done until both hold.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    while (again := unicodedata.normalize("NFKC", folded.casefold())) != folded:
        folded = again
    return " ".join(folded.split()).rstrip(_FULL_STOPS + " ")


def on_one_line(text: str) -> str:
    """Return the text with each run of white space as one space, none at either end: as a line of a prompt has it.

    What was remembered can then not begin a line of its own, nor pose as another part of the prompt; nor is there more
    of it than is seen.
    """
    return " ".join(visible(text).split())


def is_blank(text: str) -> bool:
    """Return whether nothing of a text can be seen: white space, line ends, zero width and control characters only."""
    return not text.strip() or all(unicodedata.category(character) in _UNSEEN for character in text)


def digest(text: str) -> bytes:
    """Return the key of exact duplicates: 16 bytes of BLAKE2b over the normalised text in UTF-8.

    Raises UnicodeEncodeError for a lone surrogate, which no message in UTF-8 can hold.
    """
    return hashlib.blake2b(normalised(text).encode(), digest_size=DIGEST_BYTES).digest()


def content_hash(text: str) -> str:
    """Return the hash that Evatar clients know a memory by: 32 hex digits, byte for byte theirs.

    MD5 of the text in lower case, stripped, without its trailing `。`, then without its trailing `.`. In this order:
    `a.。` loses both, `a。.` only the last one. Source: the Evatar memory system, "content hash deduplication".
    """
    same_as_evatar = text.lower().strip().rstrip("。").rstrip(".")
    return hashlib.md5(same_as_evatar.encode(), usedforsecurity=False).hexdigest()
