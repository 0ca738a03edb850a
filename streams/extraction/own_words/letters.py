"""Letters: a sentence that somebody wrote without capitals, or in capitals alone, as the rules know it."""

from __future__ import annotations

import re
from typing import Final

_NO_NAME: Final = (
    r"(?!(?:the|a|an|my|our|his|her|their|your|this|that|these|those|it|here|there|bed|town|love|debt|fear|pain"
    r"|peace|work|home"
    r"|school|college|university|church|hospital|march|april|may|june|july|august|january|february|september"
    r"|october|november"
    r"|december|january|one|two|three|four|five|six|ten|and|or|with|for|of|to|in|at|on|as|by|is|was|now|then|what"
    r"|who|me|you|us"
    r"|them|him|late|nights?|remote|full|part|both|all|some|any|no|not|people|kids|children|tech|finance|sales"
    r"|marketing"
    r"|education|healthcare|it|hr|constant|a lot|last|next|today|tomorrow|yesterday|recently|because|since|when|so"
    r"|after|before|but|for|near|btw|lol|haha|again|ago|where|which|i|we|he|she|they|if|than|from|just|only|also"
    r"|too)\b)"
)
_NAME: Final = rf"{_NO_NAME}[a-z][\w'-]{{1,20}}"
_PLACE: Final = re.compile(
    r"\b(?P<lead>(?:lives?|living|lived|based|reside|moved|move|moving|relocated|born|grew up|raised|from)"
    rf"(?: (?:now|currently|back|here|over|just))? (?:in|to|near|from|outside)) (?P<what>{_NAME}(?: {_NAME})?)",
)
_FROM: Final = re.compile(rf"\b(?P<lead>i'?m from|i am from|come from) (?P<what>{_NAME}(?: {_NAME})?)")
_FIRM: Final = re.compile(rf"\b(?P<lead>(?:works?|working|worked|job|intern|interning) (?:at|for)) (?P<what>{_NAME})")
_CALLED: Final = re.compile(
    rf"\b(?P<lead>(?:name|names|name's) (?:is )?|name is |call me |called |named )(?P<what>{_NAME})"
)
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
    for pattern in (_PLACE, _FROM, _FIRM, _CALLED):
        plain = pattern.sub(lambda m: f"{m['lead'].rstrip()} {m['what'].title()}", plain)
    return plain[:1].upper() + plain[1:]
