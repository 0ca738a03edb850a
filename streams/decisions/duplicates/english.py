"""Harmless differences between English texts: intensity words, contractions and variants of spelling."""

from __future__ import annotations

import re


def words(text: str) -> frozenset[str]:
    """Return the words of a list in one string."""
    return frozenset(text.split())


ARTICLES = words("a an the")

HARMLESS = words(
    "really very truly actually definitely absolutely totally extremely incredibly honestly literally basically indeed"
    " also"
)
"""Words that only intensify, which excludes `only`, `even`, `still`, `just`, `almost` and `probably`."""

CLOSINGS = (("too",), ("very", "much"), ("as", "well"))
"""Words that are harmless only at the end of a clause."""

NEGATIONS = words(
    "not no never nor none neither nothing nobody nowhere nope without hardly barely scarcely seldom rarely"
    " 不 没 無 无 未 非 别 勿 莫 否"
)

THAT_FOLLOWS = words(
    "say says said think thinks thought believe believes believed hope hopes hoped feel feels felt know knows knew"
    " mention mentions mentioned remember remembers remembered"
)
"""Verbs after which `that` is only a conjunction: "hopes that it rains"."""

_AGREEMENT = {
    "am": "be",
    "is": "be",
    "are": "be",
    "were": "was",
    "has": "have",
    "does": "do",
    **{f"{verb}s": verb for verb in words("like love enjoy prefer want need hate live work play eat drink own")},
}
_VARIANTS = {
    "mom": "mother",
    "mum": "mother",
    "dad": "father",
    "tv": "television",
    "ok": "okay",
    "till": "until",
    "&": "and",
    "grey": "gray",
    "centre": "center",
    "theatre": "theater",
    "litre": "liter",
    "litres": "liters",
    "metre": "meter",
    "metres": "meters",
    "kilometre": "kilometer",
    "kilometres": "kilometers",
    "programme": "program",
    "jewellery": "jewelry",
    "travelling": "traveling",
    "travelled": "traveled",
    "cancelled": "canceled",
    **{
        f"{british}our{end}": f"{british}or{end}"
        for british in words("col fav hon hum flav lab neighb behavi harb rum")
        for end in ("", "s", "ed", "ite", "ites", "ing", "hood")
    },
    **{
        f"{stem}is{end}": f"{stem}iz{end}"
        for stem in words("organ real recogn apolog memor special prior summar critic")
        for end in ("e", "es", "ed", "ing")
    },
}
_NUMBER_WORDS = "two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {word: str(value) for value, word in enumerate(_NUMBER_WORDS.split(), start=2)}
SPELLINGS = _AGREEMENT | _VARIANTS | _NUMBERS
"""A common spelling for each word: agreement with the subject, British and American, numbers as digits (not `one`)."""

_CONTRACTIONS = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"\bcan't\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"\bshan't\b", "shall not"),
        (r"n't\b", " not"),
        (r"(?<=\bi)'m\b", " am"),
        (r"(?<=[a-z])'re\b", " are"),
        (r"(?<=[a-z])'ve\b", " have"),
        (r"(?<=[a-z])'ll\b", " will"),
        (r"(?<=[a-z])'d (?=(?:like|love|prefer|rather|hate)\b)", " would "),
        (r"\blet's\b", "let us"),
        # 's means `is` only after these words; elsewhere it may be a possessive
        (r"\b(he|she|it|that|there|here|what|who|where)'s\b", r"\1 is"),
    )
)
_EXPANSIONS = tuple(
    (short, re.compile(rf"\b{short}\b", re.IGNORECASE), written_out)
    for short, written_out in (("cannot", "can not"), ("wanna", "want to"), ("gonna", "going to"))
)
_OPENINGS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"^\s*(?:(?:oh|wow|hey|hi|hello|um|uh|well|haha(?:ha)*|lol)\s*[,.!]\s*)+",
        r"^\s*please\s*,?\s+",
    )
)
_THANKS = re.compile(r"[,.!] ?(?:thanks|thank you|please)[.!]*$", re.IGNORECASE)


def expanded(text: str) -> str:
    """Return a text with contractions written out, without interjections and thanks.

    The text must be in NFKC, with straight apostrophes and single spaces.
    """
    if "'" in text:
        for pattern, replacement in _CONTRACTIONS:
            text = pattern.sub(replacement, text)
    # A search for a word is much quicker than for a pattern, and most texts contain none of these.
    folded = text.casefold()
    for short, pattern, replacement in _EXPANSIONS:
        if short in folded:
            text = pattern.sub(replacement, text)
    for opening in _OPENINGS:
        if found := opening.match(text):
            text = text[found.end() :]
    return _THANKS.sub("", text) if "thank" in folded or "please" in folded else text
