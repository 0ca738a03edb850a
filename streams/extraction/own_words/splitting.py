"""Splitting: a turn in sentences, word for word, without the marks that only format it."""

from __future__ import annotations

import re
from typing import Final

LONGEST: Final = 500
"""Characters of a sentence. What is longer is cut at a mark or at a space."""
MOST: Final = 120
"""Sentences of a turn that are read."""
_LINE_MARK: Final = re.compile(r"(?m)^[ \t]{0,8}(?:#{1,6}|[-*+•·–]|\d{1,2}[.)])[ \t]+(?=\S)")
_LINK: Final = re.compile(r"!?\[([^\]\n]{0,200})\]\(\s?[^)\s]{1,500}\)")
_STRONG: Final = re.compile(r"(\*\*|__|\*|`|~~)(?=\S)([^*`~\n]{1,300}?)(?<=\S)\1")
_QUOTED: Final = re.compile(r"“[^”\n]{1,500}”|「[^」\n]{1,500}」|『[^』\n]{1,500}』|\"[^\"\n]{1,500}\"")
_EMOJI: Final = "\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d"
_END: Final = re.compile(
    r"[。！？!?…]+[”」』’\"')）]{0,3}"
    r"|(?<!\bSt)(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bvs)(?<!\be\.g)(?<!\bi\.e)(?<!\b[A-Z])"
    rf"\.{{1,6}}[\"')]{{0,3}}(?=\s|$|[\u4e00-\u9fff{_EMOJI}])|[～~]{{1,9}}(?=\s|$)"
    rf"|(?:[{_EMOJI}]\s?){{1,9}}(?=[A-Z\u4e00-\u9fff])|\n+"
)
_GAP: Final = re.compile(r"(?<=[一-鿿0-9]) +(?=[一-鿿])(?![岁号月日年个点块元斤公只米分周天])")
_CLAUSE: Final = re.compile(rf"(?<=[，,；;])\s?|{_GAP.pattern}| [-–—]{{1,3}} |——")
_ONLY_EMOJI: Final = re.compile(rf"[{_EMOJI}\s]+")


def clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence; Chinese often has a space where a comma would stand."""
    return [part for one in _CLAUSE.split(sentence) if (part := one.strip())]


def parts_of(text: str) -> list[str]:
    """Return a text, and behind it its sentences and their clauses, each once."""
    cut = [part for sentence in sentences(text) for part in (sentence, *clauses(sentence))]
    return list(dict.fromkeys([text, *cut]))


def beside(one: str, other: str) -> str:
    """Return two sentences, one after the other."""
    return f"{one}{other}" if one[-1:] in "。！？…" else f"{one} {other}"


def with_commas(sentence: str) -> str:
    """Return a Chinese sentence with commas where spaces stand between its clauses."""
    return _GAP.sub("，", sentence)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, each with the mark that ends it; emoji belong to the one before."""
    plain = _STRONG.sub(r"\2", _LINK.sub(r"\1", _LINE_MARK.sub("", text)))
    masked = _QUOTED.sub(_hidden, plain)
    found: list[str] = []
    start = 0
    for end in _END.finditer(masked):
        _add(found, plain[start : end.end()])
        start = end.end()
    _add(found, plain[start:])
    return found[:MOST]


def _hidden(quoted: re.Match[str]) -> str:
    """Return a quotation whose marks end no sentence, but for the last where a sentence may end with it."""
    text = quoted.group()
    ends = text[-2:] if text[-2] in "。！？!?." else "__"
    return "_" * (len(text) - 2) + ends


def _add(found: list[str], raw: str) -> None:
    said = " ".join(raw.split())
    if found and said and _ONLY_EMOJI.fullmatch(said):
        found[-1] = f"{found[-1]} {said}"
        return
    while said:
        part = said[:LONGEST]
        if len(said) > LONGEST:
            cut = max(part.rfind(mark) for mark in ("，", "；", ", ", "; ", " "))
            part = part[: cut + 1] if cut > 0 else part
        if any(map(str.isalnum, part)):
            found.append(part.strip())
        said = said[len(part) :].strip()
