"""Letters: a sentence that somebody wrote without capitals, or in capitals alone, as the rules know it."""

from __future__ import annotations

import re
from typing import Final

from streams.extraction.rules.cues import cues_beside

_CUES: Final = cues_beside(__file__)
_I: Final = re.compile(r"\bi(?=\b|')")
_IM: Final = re.compile(r"\b[iI]m\b")


def with_capitals(sentence: str) -> str:
    """Return a sentence with capitals where names must stand; one that has capitals of its own is as it was."""
    words = [word for word in re.findall(r"[A-Za-z]+", sentence) if word not in ("I", "A")]
    if not words or not sentence.isascii():
        return sentence
    if all(word.isupper() for word in words) and len(words) > 2:  # noqa: PLR2004 - abbreviations are no shouting
        sentence = sentence.lower()
    elif any(word[:1].isupper() for word in words[1:]) or (
        words[0][:1].isupper() and not sentence.startswith(words[0])
    ):
        return sentence
    plain = _I.sub("I", _IM.sub("I'm", sentence))
    for pattern in (_CUES["place"], _CUES["from"], _CUES["firm"], _CUES["called"]):
        plain = pattern.sub(lambda m: f"{m['lead'].rstrip()} {m['what'].title()}", plain)
    return plain[:1].upper() + plain[1:]
