"""What must not be kept: numbers and secrets are found in texts, and replaced or refused before anything is stored.

Numbers with a checksum are found by it, so that few ordinary ones are taken. A refusal names kinds, never words.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from datetime import date
from heapq import merge
from itertools import pairwise, product
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from schemas.own_patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from schemas.own_patterns import OwnPattern

    Span: TypeAlias = tuple[int, int]
    _Finder: TypeAlias = tuple[str, str, "Action", Callable[[str], Iterator[Span]]]
    """Its mark, what it is counted as, what is done, and what finds it."""
    _Taken: TypeAlias = tuple[int, int, str, int]
    """What is replaced, by which mark, and the length of what the mark stands for."""

Kind: TypeAlias = Literal["secret", "email", "iban", "id_card", "card", "phone"]
Action: TypeAlias = Literal["redact", "refuse"]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""In the order in which they are looked for: what lies within one of an earlier kind is not one of a later."""
OWN: Final = "own"
"""What own patterns are counted as: their names are a tenant's words."""
ALL: Final = "all"
KEEP: Final = "keep"

_SECRET = re.compile(
    r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[A-Za-z0-9+/=\s]{0,16384}(?:-----END [A-Z ]{0,20}PRIVATE KEY-----)?"
    r"|(?<![A-Za-z0-9_])(?<![A-Za-z0-9_]-)(?:sk-[A-Za-z0-9_-]{16,}|gh[oprsu]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{20,}"
    r"|glpat-[A-Za-z0-9_-]{20,}|A(?:KIA|SIA)[0-9A-Z]{16}|xox[abeprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{20,}"
    r"|AIza[A-Za-z0-9_-]{30,}|[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{20,}|hf_[A-Za-z0-9]{30,}"
    r"|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,}|SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,}"
    r"|LTAI[A-Za-z0-9]{12,26}|AKID[A-Za-z0-9]{28,40}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})"
    r"|(?<=://)[^\s/@:]{0,64}:[^\s/@]{1,128}(?=@)"
)
"""Keys by how their makers let them begin, and what stands before the host of a URL."""
_LETTERS: Final = "A-Za-z\u00c0-\u024f\u0370-\u04ff"
"""Of addresses: Latin, Greek and Cyrillic. Chinese is written on to them without a space."""
_EMAIL = re.compile(rf"[{_LETTERS}0-9._%+-]{{1,64}}@(?:[{_LETTERS}0-9-]{{1,63}}\.){{1,8}}[{_LETTERS}]{{2,24}}")
_GAPS: Final = " -"
"""Signs that numbers are grouped by, as they are folded."""
_CARD_GAP: Final = re.compile("[ _/-]{0,2}")
_IBAN = re.compile(rf"[A-Za-z]{{2}}[0-9]{{2}}(?:[{_GAPS}]{{0,2}}[A-Za-z0-9]){{11,30}}")
_ID_CARD = re.compile(rf"(?<!\d)\d{{6}}[{_GAPS}]?\d{{8}}[{_GAPS}]?\d{{3}}(?:\d(?!\d)|[XxＸｘ])")
_DIGITS = re.compile(r"\d+")
_PHONES = (
    re.compile(r"[+]\d{1,3}(?:[ .()-]{0,2}\d){6,14}(?!\d)"),
    re.compile(r"(?<!\d)00[1-9]\d{0,2}[ .-](?:[ .()-]{0,2}\d){6,13}(?!\d)"),
    re.compile(r"(?<!\d)(?:\+?86[ -]{0,2})?1[3-9]\d[ -]{0,2}\d{4}[ -]{0,2}\d{4}(?!\d)"),
    re.compile(r"(?<!\d)(?:\(\d{3}\)[ .-]{0,2}|\d{3}\)?[ .-]{1,2})\d{3}[ .-]{1,2}\d{4}(?!\d)"),
    re.compile(r"(?<!\d)(?:0\d{2,3}[- ]|[(]0\d{2,3}[)] ?)\d{7,8}(?!\d)"),
    re.compile(r"(?<!\d)0\d{2,4} \d{3,4} \d{3,4}(?!\d)"),
)
"""One by one, for the signs of two that stand side by side may be read as one that ends within the other."""
_IBAN_COUNTRIES: Final = {
    15: "NO",
    16: "BE",
    18: "DK FI FK FO GL NL SD",
    19: "MK SI",
    20: "AT BA EE KZ LT LU MN XK",
    21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA",
    23: "AE GI IL IQ OM SO TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST",
    26: "IS TR",
    27: "BI DJ FR GR IT MC MR SM",
    28: "AL AZ BY CY DO GT HN HU LB NI PL SV",
    29: "BR EG PS QA UA",
    30: "JO KW MU YE",
    31: "MT SC",
    32: "LC",
    33: "RU",
}
"""Countries by the length of their account numbers."""
_IBAN_LENGTHS: Final = {country: length for length, named in _IBAN_COUNTRIES.items() for country in named.split()}
MAX_PASSES: Final = 8
"""Over one text; numbers that are written on to each other without end lose what is left beside the last marks."""
_WRITTEN_ON = re.compile(r"(?<=\])[A-Za-z0-9]+|(?<![A-Za-z0-9])[A-Za-z0-9]+(?=\[)")
_GOES_ON: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9]|(?<=[A-Za-z])[_-])")
"""The last sign of what was found and the next one, where they are written as one word."""
_LONG_RUN: Final = re.compile(r"(?<!\d)\d{5,64}(?!\d)")
"""Digits in which one number may end and another begin."""
_NUMBER: Final = 64
"""Characters that a number takes at most, with the signs in it."""
_CARD_LENGTHS: Final = range(13, 20)
_LONGEST_CARD: Final = _CARD_LENGTHS[-1]
_CARD_BEGINNINGS: Final = range(2, 7)
_CARDS_WITH_2: Final = range(2200, 2721)
"""What begins with 2 otherwise is no card: dates and numbers of orders often begin with the year."""


class Refused(ValueError):
    """A text holds what is refused; the message names the kinds and quotes nothing."""

    def __init__(self, kinds: list[str]) -> None:
        named = ", ".join(kinds)
        super().__init__(f"holds what is not accepted here ({named}): remove it, and send the rest")
        self.kinds = kinds


def actions_of(setting: str) -> dict[Kind, Action]:
    """Read `card=redact,email=refuse`; `all=redact` stands for every kind, what is named later wins.

    Raises ValueError, which says what may be written.
    """
    actions: dict[Kind, Action] = {}
    for part in filter(None, (part.strip() for part in setting.split(","))):
        kind, _, action = part.partition("=")
        kinds = KINDS if kind == "all" else [known for known in KINDS if known == kind]
        chosen = next((known for known in ("redact", "refuse") if known == action), None)
        if not kinds or (chosen is None and action != "keep"):
            raise ValueError(
                f"must be kind=action, with commas between: all, {', '.join(KINDS)} = redact, refuse or keep"
            )
        for each in kinds:
            if chosen is None:
                actions.pop(each, None)
            else:
                actions[each] = chosen
    return actions


def actions_said(said: Mapping[str, str]) -> dict[Kind, Action]:
    """Return the actions of a policy: a kind's own, else that of `all`; `keep` is none."""
    actions: dict[Kind, Action] = {}
    for kind in KINDS:
        match said.get(kind, said.get(ALL, KEEP)):
            case "redact" | "refuse" as action:
                actions[kind] = action
    return actions


def stricter(one: Mapping[Kind, Action], other: Mapping[Kind, Action]) -> dict[Kind, Action]:
    """Return the actions of both: where both name a kind, refusing goes before replacing."""
    both: dict[Kind, Action] = {}
    for kind in KINDS:
        wanted = {one.get(kind), other.get(kind)} - {None}
        if wanted:
            both[kind] = "refuse" if "refuse" in wanted else "redact"
    return both


class Redaction:
    """Replaces or refuses what must not be kept, as each kind's action says; kinds without one stay."""

    def __init__(
        self,
        actions: Mapping[Kind, Action],
        count: Callable[[str, Action, int], None] = lambda *_: None,
        patterns: Iterable[OwnPattern] = (),
    ) -> None:
        """Take the actions, and a tenant's own patterns; `count` is told how often a kind was found.

        It is told nothing of what was found, and all own patterns are `own`. Raises UnfitPattern.
        """
        known = [kind for kind in KINDS if kind in actions]
        self._finders: list[_Finder] = [(kind, kind, actions[kind], find) for kind in known for find in _FINDERS[kind]]
        self._own: list[_Finder] = []
        for own in patterns:
            action: Action = "refuse" if own.action == "refuse" else "redact"
            self._own.append((own.name, OWN, action, _finder(compiled(own.pattern))))
        self._count = count

    @property
    def is_idle(self) -> bool:
        """Return whether nothing is looked for."""
        return not self._finders and not self._own

    def replacing(self) -> Redaction:
        """Return one that replaces also what this one refuses, and counts nothing."""
        other = Redaction({})
        other._finders = [(name, label, "redact", finder) for name, label, _, finder in self._finders]
        other._own = [(name, label, "redact", finder) for name, label, _, finder in self._own]
        return other

    def counts(self, given: Any) -> dict[str, int]:  # noqa: ANN401 - any JSON
        """Return how often what would be found in a JSON value, by its mark; this is not counted."""
        found: Counter[tuple[str, str, Action]] = Counter()
        self._value(given, found)
        return {name: times for (name, _, _), times in sorted(found.items())}

    def value(self, given: Any, tally: Counter[str] | None = None) -> Any:  # noqa: ANN401 - any JSON
        """Return a JSON value with every text in it redacted, keys and whole numbers too. Raises Refused.

        `tally` is told how often each was found, by its mark.
        """
        if self.is_idle:
            return given
        found: Counter[tuple[str, str, Action]] = Counter()
        redacted = self._value(given, found)
        if tally is not None:
            tally.update({name: times for (name, _, _), times in found.items()})
        refused = [name for name, _, action in found if action == "refuse"]
        for (_, label, action), times in found.items():
            if action == "refuse" or not refused:
                self._count(label, action, times)
        if refused:
            raise Refused(refused)
        return redacted

    def _value(self, given: Any, found: Counter[tuple[str, str, Action]]) -> Any:  # noqa: ANN401 - any JSON
        match given:
            case str():
                return self._text(given, found)
            case dict():
                return {self._value(key, found): self._value(each, found) for key, each in given.items()}
            case list():
                return [self._value(each, found) for each in given]
            case int() if not isinstance(given, bool) and abs(given) < 10**40:
                said = str(given)
                redacted = self._text(said, found)
                return given if redacted == said else redacted
            case _:
                return given

    def _text(self, text: str, found: Counter[tuple[str, str, Action]]) -> str:
        """Return a text in which nothing more is found: what is taken away may uncover what was written on to it."""
        finders = [*self._own, *self._finders]
        for _ in range(MAX_PASSES):
            text, is_clean = _pass(text, finders, found)
            if is_clean:
                return text
            finders = self._finders  # own patterns are looked for once: their marks may hold what they find
        return _WRITTEN_ON.sub("", text)


def _pass(text: str, finders: list[_Finder], found: Counter[tuple[str, str, Action]]) -> tuple[str, bool]:
    """Replace what the finders find in the same text; return the text, and whether they found nothing.

    What overlaps is one replacement, of which no sign stays, with the mark of the longest. What lies within an earlier
    kind's is not counted.
    """
    taken: list[_Taken] = []
    usual = _folded(text)
    known = [finder for finder in finders if finder[1] != OWN]
    alone = [(finder, list(finder[3](text if finder[1] == OWN else usual))) for finder in finders]
    seen = [*_written_together(usual, known), *alone]
    places = sorted({span for finder, spans in seen if finder[1] != OWN for span in spans})
    for (name, label, action, _), spans in [*seen, *_sharing(usual, known, places)]:
        if spans:
            taken, times = _joined(taken, spans, name)
            found[name, label, action] += times
    edges = [(0, 0, "", 0), *taken, (len(text), len(text), "", 0)]
    parts = [text[left[1] : right[0]] + (right[2] and f"[{right[2]}]") for left, right in pairwise(edges)]
    return "".join(parts), not taken


def _joined(taken: list[_Taken], spans: list[Span], name: str) -> tuple[list[_Taken], int]:
    """Return what is taken with a kind's spans, in order and apart, and how many of the spans lie within no earlier."""
    joined: list[_Taken] = []
    counted = len(spans)
    for left, right, mark, longest in merge(taken, ((*span, name, 0) for span in spans), key=itemgetter(0)):
        length = longest or right - left
        if not joined or left >= joined[-1][1]:
            joined.append((left, right, mark, length))
            continue
        begin, end, known, known_length = joined[-1]
        counted -= not longest and right <= end
        joined[-1] = (begin, max(end, right), *max((known, known_length), (mark, length), key=itemgetter(1)))
    return joined, counted


def _written_together(text: str, finders: list[_Finder]) -> Iterator[tuple[_Finder, list[Span]]]:
    """Find two numbers with nothing between them: at some place in a row of digits one ends and the other begins."""
    for run in _LONG_RUN.finditer(text):
        for cut in range(run.start() + 1, run.end()):
            after = text[cut : cut + _NUMBER]
            begins = ((finder, next(finder[3](after), (-1, 0))) for finder in finders)
            if (second := next((one for one in begins if one[1][0] == 0), None)) is None:
                continue
            before = text[max(0, cut - _NUMBER) : cut]
            ends = ((finder, span) for finder in finders for span in finder[3](before))
            if first := next((one for one in ends if one[1][1] == len(before)), None):
                yield first[0], [(cut - len(before) + first[1][0], cut)]
                yield second[0], [(cut, cut + second[1][1])]


def _sharing(text: str, finders: list[_Finder], seen: list[Span]) -> Iterator[tuple[_Finder, list[Span]]]:
    """Find numbers that begin within one that was seen and go on behind it, where no boundary stands at its end."""
    for left, right in seen:
        if _GOES_ON.match(text, right - 1):
            for finder, cut in product(finders, range(max(left + 1, right - _NUMBER), right)):
                begin, end = next(finder[3](text[cut : right + _NUMBER]), (-1, 0))
                if begin == 0 and cut + end > right:
                    yield finder, [(cut, cut + end)]


def _finder(pattern: re.Pattern[str]) -> Callable[[str], Iterator[Span]]:
    return lambda text: (found.span() for found in pattern.finditer(text))


def _finder_of_all(pattern: re.Pattern[str]) -> Callable[[str], Iterator[Span]]:
    """Return what finds a number at each place where one begins, also within the one before."""

    def find(text: str) -> Iterator[Span]:
        found = pattern.search(text)
        while found is not None:
            yield found.span()
            found = pattern.search(text, found.start() + 1)

    return find


def _emails(text: str) -> Iterator[Span]:
    """Find addresses, each with an @ of its own: the host of one may be the name in the next."""
    found = _EMAIL.search(text) if "@" in text else None
    while found is not None:
        yield found.span()
        found = _EMAIL.search(text, text.index("@", found.start()) + 1)


def _ibans(text: str) -> Iterator[Span]:
    """Find account numbers: they have the length of their country, and their remainder by 97 is 1.

    Also one that begins within another.
    """
    start = 0
    while (found := _IBAN.search(text, start)) is not None:
        start = found.start() + 1
        length = _IBAN_LENGTHS.get(found[0][:2].upper(), 0)
        places = [place for place in range(*found.span()) if text[place] not in _GAPS][:length]
        if not length or len(places) < length:
            continue
        given = "".join(text[place] for place in places).upper()
        if int("".join(str(int(each, 36)) for each in given[4:] + given[:4])) % 97 == 1:
            yield found.start(), places[-1] + 1


def _id_cards(text: str) -> Iterator[Span]:
    """Find Chinese id numbers: they hold a date of birth, and their last sign is a checksum."""
    for found in _ID_CARD.finditer(text):
        given = [each for each in found[0] if each not in _GAPS]
        digits = [int(each) for each in given[:17]]
        born = "".join(map(str, digits[6:14]))
        weighed = sum(digit * pow(2, 17 - place, 11) for place, digit in enumerate(digits))
        last = str(int(given[17])) if given[17].isdecimal() else "X"
        if "10X98765432"[weighed % 11] == last and _is_date(born):
            yield found.span()


def _is_date(digits: str) -> bool:
    try:
        date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    except ValueError:
        return False
    return True


def _cards(text: str) -> Iterator[Span]:
    """Find card numbers: 13 to 19 digits, in groups or not, that begin with 2 to 6 and pass Luhn's check."""
    groups: list[Span] = []
    for found in _DIGITS.finditer(text):
        if groups and not _CARD_GAP.fullmatch(text, groups[-1][1], found.start()):
            yield from _cards_in(text, groups)
            groups = []
        groups.append(found.span())
    yield from _cards_in(text, groups)


def _cards_in(text: str, groups: list[Span]) -> Iterator[Span]:
    """Find the longest card number that begins with each of groups with gaps between them.

    Also within one that was found: which of two is meant, nobody can tell.
    """
    digits = [int(digit) for left, right in groups for digit in text[left:right]]
    if len(digits) < _CARD_LENGTHS[0]:
        return
    sums = ([0], [0])
    """Luhn's up to each digit, with the digits at even places doubled, and with those at odd ones."""
    for place, digit in enumerate(digits):
        doubled = digit * 2 - 9 * (digit > 4)  # noqa: PLR2004 - the sum of the digits of its double
        for parity, known in enumerate(sums):
            known.append(known[-1] + (doubled if place % 2 == parity else digit))
    ends: dict[int, int] = {}
    place = 0
    for left, right in groups:
        place += right - left
        ends[place] = right
    begin = 0
    for left, right in groups:
        if digits[begin] in _CARD_BEGINNINGS and _begins_a_card(digits[begin : begin + 4]):
            for length in reversed(_CARD_LENGTHS):
                end = begin + length
                if end in ends and not (sums[end % 2][end] - sums[end % 2][begin]) % 10:
                    yield left, ends[end]
                    break
        begin += right - left


def _begins_a_card(digits: list[int]) -> bool:
    return digits[0] != _CARD_BEGINNINGS[0] or int("".join(map(str, digits))) in _CARDS_WITH_2


class _Folded(dict[int, str]):
    """Signs as numbers and addresses are usually written with: digits and letters of full width, spaces, dashes.

    One sign stays one sign, so that what is found in a folded text stands at the same place in the text.
    """

    def __missing__(self, code: int) -> str:
        """Return the usual sign for a code point, and remember it."""
        sign = chr(code)
        plain = unicodedata.normalize("NFKC", sign)
        category = unicodedata.category(sign)
        if category == "Nd":
            plain = str(unicodedata.digit(sign))
        elif category == "Zs" or sign == "\t":
            plain = " "
        elif category == "Pd" or sign == "\u2212":
            plain = "-"
        self[code] = found = plain if len(plain) == 1 and plain.isascii() else sign
        return found


_FOLDED: Final = _Folded()


def _folded(text: str) -> str:
    return text if text.isascii() and "\t" not in text else text.translate(_FOLDED)


_FINDERS: Final[dict[Kind, tuple[Callable[[str], Iterator[Span]], ...]]] = {
    "secret": (_finder(_SECRET),),
    "email": (_emails,),
    "iban": (_ibans,),
    "id_card": (_id_cards,),
    "card": (_cards,),
    "phone": tuple(_finder_of_all(pattern) for pattern in _PHONES),
}
