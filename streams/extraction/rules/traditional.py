"""Traditional characters, turned into the simplified ones in which the rules are written.

Only the characters that occur in the rules are known here, and the commonest words of written Cantonese. Findings are
returned in the user's own characters.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from streams.extraction.rules.cues import tables_beside

if TYPE_CHECKING:
    from streams.extraction.rules.finding import Finding

_CHARACTERS: Final = tables_beside(__file__)["characters"]
_FOLD: Final = str.maketrans(_CHARACTERS["traditional"], _CHARACTERS["simplified"])
_OURS: Final = "用户"
"""The rules' own word, although the user's text may contain it."""


def simplified(text: str) -> str:
    """Return a text of the same length in which the rules find their words."""
    return text.translate(_FOLD)


def as_written(finding: Finding, plain: str, text: str) -> Finding:
    """Return a finding from `plain`, which is `text` simplified, with the characters of `text`."""
    return replace(
        finding,
        content=_written(finding.content, plain, text),
        value=None if finding.value is None else _written(finding.value, plain, text),
        key_dialogue=tuple(_written(said, plain, text) for said in finding.key_dialogue),
    )


def _written(words: str, plain: str, text: str) -> str:
    """Return words in the characters of the text, as far as it contains them; the others are the rules' own words."""
    if (whole := plain.find(words)) >= 0:
        return text[whole : whole + len(words)]
    done = []
    start = 0
    while start < len(words):
        end, at = start, -1
        while end < len(words) and not words.startswith(_OURS, end):
            further = plain.find(words[start : end + 1], max(at, 0))
            if further < 0:
                break
            end, at = end + 1, further
        if at < 0:
            end = start + (len(_OURS) if words.startswith(_OURS, start) else 1)
        done.append(words[start:end] if at < 0 else text[at : at + end - start])
        start = end
    return "".join(done)
