"""Redaction: numbers and secrets in texts are replaced or refused before anything is stored.

Numbers with a checksum are recognised by it, so that few ordinary ones are affected. A refusal names kinds, not words.
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
    """The mark, the label for counting, the action, and the function that finds spans."""
    _Taken: TypeAlias = tuple[int, int, str, int]
    """The begin and end of a replaced span, its mark, and the length of the longest match in it."""

Kind: TypeAlias = Literal["secret", "email", "iban", "id_card", "card", "phone"]
Action: TypeAlias = Literal["redact", "refuse"]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""The kinds in the order of the search: a match inside one of an earlier kind does not count."""
OWN: Final = "own"
"""The label under which a tenant's own patterns are counted, because their names are the tenant's words."""
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
"""Keys, recognised by the prefixes of their issuers, and the password in a URL."""
_LETTERS: Final = "A-Za-z\u00c0-\u024f\u0370-\u04ff"
"""The letters of addresses: Latin, Greek and Cyrillic. Chinese text may follow an address without a space."""
_EMAIL = re.compile(rf"[{_LETTERS}0-9._%+-]{{1,64}}@(?:[{_LETTERS}0-9-]{{1,63}}\.){{1,8}}[{_LETTERS}]{{2,24}}")
_GAPS: Final = " -"
"""The folded characters that group the digits of numbers."""
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
"""The patterns are applied one by one, because two adjacent numbers may match as one that ends inside the second."""
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
"""The countries by the length of their account numbers."""
_IBAN_LENGTHS: Final = {country: length for length, named in _IBAN_COUNTRIES.items() for country in named.split()}
MAX_PASSES: Final = 8
"""The most passes over one text. In an endless chain of joined numbers, the rest next to the last marks is removed."""
_WRITTEN_ON = re.compile(r"(?<=\])[A-Za-z0-9]+|(?<![A-Za-z0-9])[A-Za-z0-9]+(?=\[)")
_GOES_ON: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9]|(?<=[A-Za-z])[_-])")
"""The last character of a match and the next one, if they belong to the same word."""
_LONG_RUN: Final = re.compile(r"(?<!\d)\d{5,64}(?!\d)")
"""A run of digits in which one number may end and another begin."""
_NUMBER: Final = 64
"""The most characters of a number, including its separators."""
_CARD_LENGTHS: Final = range(13, 20)
_LONGEST_CARD: Final = _CARD_LENGTHS[-1]
_CARD_BEGINNINGS: Final = range(2, 7)
_CARDS_WITH_2: Final = range(2200, 2721)
"""The first four digits of cards that begin with 2; dates and order numbers often begin with a year."""


class Refused(ValueError):
    """A text contains refused content; the message names the kinds and quotes nothing."""

    def __init__(self, kinds: list[str]) -> None:
        named = ", ".join(kinds)
        super().__init__(f"holds what is not accepted here ({named}): remove it, and send the rest")
        self.kinds = kinds


def actions_of(setting: str) -> dict[Kind, Action]:
    """Read `card=redact,email=refuse`; `all=redact` applies to every kind, and later entries win.

    Raises ValueError, which describes the format.
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
    """Return the actions of a policy: the kind's own action, else that of `all`; `keep` means no action."""
    actions: dict[Kind, Action] = {}
    for kind in KINDS:
        match said.get(kind, said.get(ALL, KEEP)):
            case "redact" | "refuse" as action:
                actions[kind] = action
    return actions


def stricter(one: Mapping[Kind, Action], other: Mapping[Kind, Action]) -> dict[Kind, Action]:
    """Return the actions of both; if both name a kind, refusing takes precedence over replacing."""
    both: dict[Kind, Action] = {}
    for kind in KINDS:
        wanted = {one.get(kind), other.get(kind)} - {None}
        if wanted:
            both[kind] = "refuse" if "refuse" in wanted else "redact"
    return both


class Redaction:
    """The replacement or refusal of content that must not be kept, by the action of its kind; other kinds stay."""

    def __init__(
        self,
        actions: Mapping[Kind, Action],
        count: Callable[[str, Action, int], None] = lambda *_: None,
        patterns: Iterable[OwnPattern] = (),
    ) -> None:
        """Take the actions, and a tenant's own patterns; `count` is called with a kind, its action and a number.

        It never gets the matches themselves, and all own patterns are counted as `own`. Raises UnfitPattern.
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
        """Return whether there is nothing to search for."""
        return not self._finders and not self._own

    def replacing(self) -> Redaction:
        """Return a redaction that replaces what this one refuses, and does not count."""
        other = Redaction({})
        other._finders = [(name, label, "redact", finder) for name, label, _, finder in self._finders]
        other._own = [(name, label, "redact", finder) for name, label, _, finder in self._own]
        return other

    def counts(self, given: Any) -> dict[str, int]:  # noqa: ANN401 - any JSON
        """Return the number of matches in a JSON value by their mark, without reporting them to `count`."""
        found: Counter[tuple[str, str, Action]] = Counter()
        self._value(given, found)
        return {name: times for (name, _, _), times in sorted(found.items())}

    def value(self, given: Any, tally: Counter[str] | None = None) -> Any:  # noqa: ANN401 - any JSON
        """Return a JSON value with all texts in it redacted, including keys and whole numbers. Raises Refused.

        `tally` gets the number of matches by their mark.
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
        """Return a text without any matches; a replacement may uncover a number that was joined to it."""
        finders = [*self._own, *self._finders]
        for _ in range(MAX_PASSES):
            text, is_clean = _pass(text, finders, found)
            if is_clean:
                return text
            finders = self._finders  # own patterns apply once: they may match their own marks
        return _WRITTEN_ON.sub("", text)


def _pass(text: str, finders: list[_Finder], found: Counter[tuple[str, str, Action]]) -> tuple[str, bool]:
    """Replace all matches of the finders in a text; return the text, and whether there was no match.

    Overlapping matches are replaced as one, with the mark of the longest. A match inside one of an earlier kind is not
    counted.
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
    """Return the replacements merged with a kind's spans, and the number of spans outside earlier replacements."""
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
    """Find two adjacent numbers: at some place in a run of digits, one ends and the other begins."""
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
    """Find numbers that begin inside a match and continue after it, if there is no boundary at its end."""
    for left, right in seen:
        if _GOES_ON.match(text, right - 1):
            for finder, cut in product(finders, range(max(left + 1, right - _NUMBER), right)):
                begin, end = next(finder[3](text[cut : right + _NUMBER]), (-1, 0))
                if begin == 0 and cut + end > right:
                    yield finder, [(cut, cut + end)]


def _finder(pattern: re.Pattern[str]) -> Callable[[str], Iterator[Span]]:
    return lambda text: (found.span() for found in pattern.finditer(text))


def _finder_of_all(pattern: re.Pattern[str]) -> Callable[[str], Iterator[Span]]:
    """Return a function that finds a number at each place where one begins, even inside the previous one."""

    def find(text: str) -> Iterator[Span]:
        found = pattern.search(text)
        while found is not None:
            yield found.span()
            found = pattern.search(text, found.start() + 1)

    return find


def _emails(text: str) -> Iterator[Span]:
    """Find addresses, each with its own @: the host of one may be the name in the next."""
    found = _EMAIL.search(text) if "@" in text else None
    while found is not None:
        yield found.span()
        found = _EMAIL.search(text, text.index("@", found.start()) + 1)


def _ibans(text: str) -> Iterator[Span]:
    """Find account numbers, which have the length of their country and leave the remainder 1 modulo 97.

    A number that begins inside another is found, too.
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
    """Find Chinese id numbers, which contain a date of birth and end with a checksum."""
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
    """Find the longest card number that begins at each of several groups of digits.

    A number inside another one is found, too, because it is unknown which of the two is meant.
    """
    digits = [int(digit) for left, right in groups for digit in text[left:right]]
    if len(digits) < _CARD_LENGTHS[0]:
        return
    sums = ([0], [0])
    """Luhn's sums up to each digit, with the digits at even positions doubled, and with those at odd positions."""
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
    """A mapping to the usual characters of numbers and addresses: full-width digits and letters, spaces, dashes.

    Each character maps to one character, so that a match in a folded text has the same position in the original.
    """

    def __missing__(self, code: int) -> str:
        """Return the usual character for a code point, and cache it."""
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
