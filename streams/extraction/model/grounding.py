"""Grounding: a model's answer must be based on the user's words.

Small models cite the wrong line, copy the format, fill slots by guessing, and remember their own words. Each entry is
checked against the window: its lines are found, its slot and quotes are checked, and its day is read by our own rules.
Statements of the assistant alone are dropped, with a reason. `judgement` decides in any language whether an entry
follows from the user's lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from projections.text.scripts import HAN
from schemas.vocabulary.attributes import MAPS, NICKNAME, is_single
from schemas.vocabulary.tastes import says_taste
from streams.extraction.evidence.judgement import confirms, doubted
from streams.extraction.model import days, own_slots, wording
from streams.extraction.model.answer import Answer
from streams.extraction.model.examples import EXAMPLES
from streams.extraction.model.pets import names_pet

if TYPE_CHECKING:
    from streams.extraction.protocol import Piece, Proposal, Window

_OF_THE_TALK: Final = re.compile(
    r"(?:the )?user (?:says?|said|greets?|greeted|thanks?|thanked|asks?|asked|inquire[sd]?|wants to know"
    r"|wanted to know|replied|responded|requests?|requested|mentioned asking)\b"
    r"|用户(?:说|问|询问|打招呼|打了|想知道|感谢|回复|请求|要求|向助手|表示感谢|表示知道|知道了)",
    re.IGNORECASE,
)
_YOU: Final = re.compile(r"\byou\b|[你您]", re.IGNORECASE)
_ENDS: Final = re.compile(r"[。！？!?]|\.(?=\s|$)")
_SUBJECT: Final = re.compile(r"\busers?\b|用户|\b(?:I|my|we|our)\b|[我咱]", re.IGNORECASE)
_OF_ANOTHER: Final = re.compile(
    r"(?:the )?user[’']s (?!(?:full |first |last |current |native |preferred |real |mother )?"
    r"(?:name|nickname|age|birthday|date|job|occupation|profession|employer|company|workplace|work|city|home|hometown|residence|address|language"
    r"|tongue|relationship|marital|communication|style)\b)"
    r"|用户的?(?:妈|爸|母|父|弟|哥|姐|妹|儿子|女儿|老婆|老公|妻|丈夫|爱人|男友|女友|朋友|同事|爷|奶|外婆|外公|孩子|猫|狗|宠物|老师|老板|邻居|室友|上司|医生)"
    r"|用户的(?!名字|姓名|昵称|年龄|年纪|生日|出生|职业|工作|公司|单位|雇主|城市|家(?:在|乡)|住|语言|母语|感情|婚姻|沟通)",
    re.IGNORECASE,
)
_CALLED: Final = re.compile(
    r"\b(?:calls?|called|calling) me\b|\bnick ?name|[叫喊唤]我|昵称|小名|绰号|外号", re.IGNORECASE
)
"""Words around a name that others call the user."""
_ALLERGY: Final = re.compile(
    r"\b(?:allerg\w*|intoleran\w*|reactions?|celiac|coeliac|anaphyla\w*|hives|rash)\b|过敏|不耐受|忌口|不能[吃喝碰]|[吃喝碰]不了|起疹",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Line:
    """A piece of the window with the words that identify it."""

    piece: Piece
    terms: frozenset[str]
    letters: str


class _UngroundedError(Exception):
    """An entry is not based on the user's words."""


def grounded(answer: Answer, window: Window) -> Answer:
    """Return the answer without the entries and slots that the user's words do not support, and the others corrected.

    `dropped` names each of these entries and slots. For screenshots and articles, which have no speaker, only entries
    that repeat the format are dropped.
    """
    reading = _Reading(window)
    kept: list[Proposal] = []
    dropped = list(answer.dropped)
    for number, proposal in enumerate(answer.proposals, 1):
        try:
            settled = reading.settle(proposal)
        except _UngroundedError as error:
            dropped.append(f"memory {number}: {error}")
            continue
        if proposal.attribute and not settled.attribute:
            if is_single(proposal.attribute):  # the statement itself is then doubtful, too
                settled = doubted(settled)
            dropped.append(f"memory {number}, {proposal.attribute}: no line of the user's says that of the user")
        kept.append(settled)
    kept, repeated = _once(_each_slot_once(kept))
    return Answer(tuple(kept), (*dropped, *repeated))


def _each_slot_once(proposals: list[Proposal]) -> list[Proposal]:
    """Return the proposals without slots whose value another proposal for the same slot states and they do not."""
    said = {
        (proposal.attribute, proposal.value)
        for proposal in proposals
        if proposal.value and wording.letters(proposal.value) in wording.letters(proposal.content)
    }
    return [
        replace(proposal, attribute=None, value=None)
        if (proposal.attribute, proposal.value) in said
        and wording.letters(proposal.value or "") not in wording.letters(proposal.content)
        else proposal
        for proposal in proposals
    ]


def _once(proposals: list[Proposal]) -> tuple[list[Proposal], list[str]]:
    """Return the proposals without those that repeat another one for the same slot word for word."""
    kept: dict[tuple[str, str | None], Proposal] = {}
    repeated: list[str] = []
    for proposal in proposals:
        key = (wording.letters(proposal.content), proposal.attribute and f"{proposal.attribute}={proposal.value}")
        plain = (key[0], None)
        if key in kept or (proposal.attribute is None and any(said == key[0] for said, _ in kept)):
            repeated.append("a memory that says the same twice")
            continue
        kept.pop(plain, None)
        kept[key] = proposal
    return list(kept.values()), repeated


class _Reading:
    """A window that is read once for all entries of its answer."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._lines = [
            _Line(
                piece,
                wording.terms(f"{piece.name or ''} {piece.text} {_context(piece)}"),
                wording.letters(piece.text),
            )
            for piece in window.pieces
        ]
        self._of_user = [i for i, line in enumerate(self._lines) if line.piece.speaker == "user"]
        self._of_assistant = [i for i, line in enumerate(self._lines) if line.piece.speaker == "assistant"]
        self._confirmed = {
            i: i + 1 for i in self._of_assistant if i + 1 in self._of_user and confirms(self._text(i + 1))
        }
        self._corrections = days.corrections(window)

    def settle(self, proposal: Proposal) -> Proposal:
        """Return an entry with its lines, slot, quotes and day. Raises _UngroundedError."""
        if not any(map(str.isalnum, proposal.content)) or self._is_an_example(proposal.content):
            raise _UngroundedError("it repeats the form")
        if self._window.source_type != "chat":
            return proposal
        proposal = self._corrected(proposal)
        if (sources := self._sources(proposal)) != proposal.sources:
            proposal = replace(proposal, sources=sources)
        self._refuse(proposal)
        first = next((i for i in proposal.sources if i in self._of_user), None)
        name = self._lines[first].piece.name if first is not None else None
        if (quotes := self._quotes(proposal)) != proposal.key_dialogue:
            proposal = replace(proposal, key_dialogue=quotes)
        proposal = self._with_slot(proposal)
        if self._is_a_whole_turn(proposal):
            return replace(proposal, occurred_on=days.with_day(proposal, self._window).occurred_on)
        if (said := wording.of_the_user(proposal.content, name)) != proposal.content:
            proposal = replace(proposal, content=said)
        return days.with_day(proposal, self._window)

    def _is_a_whole_turn(self, proposal: Proposal) -> bool:
        """Return whether an entry is a verbatim turn with several sentences or an addressee.

        Such an entry is a quotation and stays unchanged.
        """
        said = wording.letters(proposal.content)
        quoted = len(_ENDS.findall(proposal.content.strip())) > 1 or _YOU.search(proposal.content)
        return bool(quoted) and any(said == self._lines[i].letters for i in proposal.sources)

    def _text(self, index: int) -> str:
        return self._lines[index].piece.text

    def _is_an_example(self, content: str) -> bool:
        """Return whether an entry is copied from the examples and most of its words are not in the window."""
        said = wording.letters(content)
        if said not in _EXAMPLES or any(said in line.letters for line in self._lines):
            return False
        words = frozenset().union(*(line.terms for line in self._lines))
        terms = wording.terms(content)
        return not terms or 2 * len(terms & words) < len(terms)

    def _corrected(self, proposal: Proposal) -> Proposal:
        """Return an entry with the user's later corrections, and the correcting lines added to its sources."""
        for correction in self._corrections:
            proposal = correction.applied(proposal)
        return proposal

    def _sources(self, proposal: Proposal) -> tuple[int, ...]:
        """Return the lines of an entry: the cited ones, or the user's best matching line if none of them is the user's.

        A statement that the user confirmed comes from both lines.
        """
        if any(i in self._of_user for i in proposal.sources) or not self._of_user:
            return proposal.sources
        terms = wording.terms(proposal.content)
        best = max(self._of_user, key=lambda i: (len(terms & self._lines[i].terms), -i))
        held = max((len(terms & self._lines[i].terms) for i in proposal.sources), default=0)
        confirming = [self._confirmed[i] for i in proposal.sources if i in self._confirmed]
        if not confirming and len(terms & self._lines[best].terms) > held:
            return (best,)
        return (*proposal.sources, *confirming)

    def _refuse(self, proposal: Proposal) -> None:
        """Raise _UngroundedError if an entry is not based on the user's words."""
        content = proposal.content
        own = [i for i in proposal.sources if i in self._of_user]
        if not own:
            raise _UngroundedError("only the assistant said it")
        said = wording.letters(content)
        user_lines = [self._lines[i] for i in self._of_user]
        sentences = {wording.letters(part) for i in self._of_assistant for part in _sentences(self._text(i))}
        if said in sentences and not any(said in line.letters for line in user_lines):
            raise _UngroundedError("it is the assistant's line")
        if _OF_THE_TALK.match(content) and not any(said in line.letters for line in user_lines):
            raise _UngroundedError("it tells of the talk, not of the user")

    def _quotes(self, proposal: Proposal) -> tuple[str, ...]:
        said = "\n".join(line.letters for line in self._lines)
        return tuple(q for q in proposal.key_dialogue if wording.letters(q) and wording.letters(q) in said)

    def _with_slot(self, proposal: Proposal) -> Proposal:
        if proposal.becomes is not None:
            lines = proposal.sources if proposal.about else self._of_user
            holds = any(self._holds(i, proposal.becomes, proposal.value or "") for i in lines)
            is_its_own = proposal.about is not None or self._is_of_the_user(proposal)
            return proposal if holds and is_its_own else replace(proposal, becomes=None, value=None)
        if proposal.about is not None:  # the slot is not one of the user's profile
            fills = any(self._holds(i, proposal.attribute or "", proposal.value or "") for i in proposal.sources)
            return proposal if fills else replace(proposal, attribute=None, value=None)
        if proposal.attribute is None or self._fills(proposal, proposal.attribute, proposal.value or ""):
            return proposal
        return replace(proposal, attribute=None, value=None)

    def _fills(self, proposal: Proposal, attribute: str, value: str) -> bool:
        """Return whether a line of the user contains the value or its words, and the entry is about the user."""
        if is_single(attribute) and not self._is_of_the_user(proposal):
            return False
        lines = [*self._of_user, *(i for i, answer in self._confirmed.items() if answer in self._of_user)]
        holding = [i for i in lines if self._holds(i, attribute, value)]
        if attribute in ("likes", "dislikes"):
            return any(says_taste(self._text(i)) for i in holding)
        if attribute == "allergies":
            return any(_ALLERGY.search(self._text(i)) for i in holding)
        if attribute in ("pet_names", NICKNAME):
            own_pets = attribute == "pet_names" and any(names_pet(self._text(i), value) for i in holding)
            return own_pets or any(_CALLED.search(self._text(i)) for i in holding)
        known = any(HAN.search(self._text(i)) or wording.is_english(self._text(i)) for i in lines)
        if is_single(attribute) and known:
            return any(own_slots.says(self._said(i), attribute, value) for i in holding)
        return bool(holding) or not known  # the patterns know two languages; `judgement` handles others

    def _said(self, index: int) -> own_slots.Said:
        """Return a line as its speaker's own statement; a confirmed line of the assistant becomes the user's words."""
        before = self._lines[max(0, index - 2) : index]
        asked = before[-1].piece.text if before and index - 1 in self._of_assistant else ""
        text = self._text(index)
        return own_slots.Said(
            text=own_slots.of_the_assistant(text) if index in self._of_assistant else text,
            before="\n".join(line.piece.text for line in before),
            question=asked,
        )

    def _is_of_the_user(self, proposal: Proposal) -> bool:
        names = [self._lines[i].piece.name for i in proposal.sources if self._lines[i].piece.name]
        named = any(name in proposal.content for name in names if name) or (proposal.value or "") in proposal.content
        of_user = _SUBJECT.search(proposal.content) is not None or named
        return of_user and not _OF_ANOTHER.match(proposal.content)

    def _holds(self, index: int, attribute: str, value: str) -> bool:
        line = self._lines[index]
        if attribute in MAPS:
            value = value.replace("\uff1a", ":").rpartition(":")[0]
        if attribute == "birthday" or attribute in MAPS:
            own, said = days.numbers(value), days.numbers(line.piece.text)
            return bool(said) if attribute in MAPS else len(own & said) >= min(2, len(own))
        wanted = wording.letters(value)
        if wanted and wanted in line.letters:
            return True
        terms = wording.terms(value)
        return bool(terms) and terms <= line.terms


def _context(piece: Piece) -> str:
    context = piece.context
    return f"{context.gift or ''} {context.scene or ''} {context.mood or ''}" if context else ""


def _sentences(text: str) -> list[str]:
    return [part for part in (text, *re.split(r"(?<=[。！？!?.])", text)) if part.strip()]


_LINE: Final = re.compile(r"\[\d{1,3}\] \S{10} \S{5} (?:user|assistant): (.*)")
_KNOWN_LINE: Final = re.compile(r"^K1 \S{10} (.*)", re.MULTILINE)
_EXAMPLES: Final = frozenset(
    wording.letters(content)
    for examples in EXAMPLES.values()
    for example in examples
    for said in (
        re.findall(r'"content":"([^"]*)"', example.answer),
        *map(_sentences, _LINE.findall(example.lines)),
        _KNOWN_LINE.findall(example.lines),
    )
    for content in said
)
