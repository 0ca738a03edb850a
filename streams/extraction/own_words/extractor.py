"""The extractor without a model: the speakers' own sentences, as long as they last."""

from __future__ import annotations

import logging
import re
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

from projections.dates.wording import without_days
from projections.embedding.embedder import EmbedderUnavailable
from projections.embedding.heads import ANSWER_HEADS, HEADS
from projections.profile.attribute_values import fault_of
from projections.profile.upcoming import SCHEDULE
from projections.text.analyser import terms
from projections.text.scripts import HAN, is_read
from schemas.vocabulary.attributes import LISTS, NICKNAME, STATES
from schemas.vocabulary.facts import subject_of
from streams.extraction.event_importance import episode_importance, newest_intimacy
from streams.extraction.own_words.antecedents import leaves_out_whom, of_whom, unnamed, with_stand_in
from streams.extraction.own_words.cues import (
    FEW_TERMS,
    asks_for_something,
    category_of,
    denies_value,
    in_first_person,
    is_instead,
)
from streams.extraction.own_words.endings import Endings
from streams.extraction.own_words.others import is_one_of_some, of_relation, without_names
from streams.extraction.own_words.splitting import beside, clauses
from streams.extraction.protocol import Extraction, Outage, Proposal
from streams.extraction.request import know_nothing, when
from streams.extraction.rules_lineage import RulesLineage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from projections.embedding.embedder import Vectors
    from projections.embedding.heads import Heads
    from schemas.messages.observations import TurnContext
    from streams.extraction.own_words.statements import Reading, Statement
    from streams.extraction.protocol import Known, Window
    from streams.extraction.rules.finding import Finding

LASTING: Final = 0.25
"""The least `lasting` of what is kept for long."""
LONGEST_TOGETHER: Final = 200
"""Characters of a memory to which a sentence is joined that passes, or is short."""
SURE: Final = 0.8
"""The least `alone` of a short sentence that is a memory of its own beside another one."""
SHORT: Final = 48
"""The width of a sentence that tells little without those beside it. A Chinese character is two wide."""
KEPT: Final = 0.4
"""The least `kept` of what is kept at all."""
OF_SPEAKER: Final = 0.1
"""The least `own` of a sentence that fills a key."""
OF_CLAUSE: Final = 0.6
"""The least `lasting` of a clause that has its whole sentence kept for long."""
OVER: Final = 0.5
"""The least `over` of what is kept for what it ends."""
OF_ITS_OWN: Final = 0.3
"""The least `over` of a sentence that is not joined to one before it with a key, so that it ends what it names."""
CHANGE: Final = 0.1
"""The least `over` of a sentence whose clauses are looked at for what is over."""
ALONE: Final = 0.6
"""The least `alone` of a sentence that does not carry the one before it in its turn."""
LASTS: Final = frozenset({"habit", "project"})
"""The categories of what lasts if its speaker says it of themselves."""
SHORT_LIVED: Final = 0.3
"""Importance of what passes."""
_USER: Final = re.compile(r"^(?:User|用户)")
_ASKED: Final = re.compile(r"^(?:[^:()]{1,40}: )?\([^()]{1,200}\) ")
"""The question before an answer, and the speaker before it."""
_NAME: Final = re.compile(r"[A-Z]\w+")
log = logging.getLogger("mnemolog")
_HAPPENED: Final = frozenset({"confession", "fight", "date", "gift", "milestone"})
"""The events that end nothing: they are added to what happened before."""
_FIRST_DATE: Final = re.compile(r"第一次约会|\bfirst date\b", re.IGNORECASE)


class Reader(Protocol):
    """Reads windows by the rules."""

    async def read(self, window: Window) -> Reading:
        """Return the statements of a window. Raises Outage and Rejected."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRead:
    """What was read in a fact that is remembered as it is."""

    attribute: str | None = None
    value: str | None = None
    occurred_on: str | None = None
    """As a Candidate's."""
    ends: tuple[str, ...] = ()
    """Ids of the known memories that are no longer so because of it."""


class OwnWords(RulesLineage):
    """Keeps what the speakers said of themselves, word for word, each sentence by how surely it lasts."""

    def __init__(
        self,
        reader: Reader,
        embed: Callable[[Sequence[str]], Awaitable[Vectors]],
        heads: Heads,
        known_of: Callable[[Window], Awaitable[Sequence[Known]]] = know_nothing,
    ) -> None:
        """`embed` is the built-in encoder's, whatever encoder the memories have.

        `known_of` returns what is known of what a window says, among which is what it ends.
        """
        self._reader = reader
        self._embed = embed
        self._heads = heads
        self._known_of = known_of
        self._endings = Endings(embed, heads)

    def knowing(self, known_of: Callable[[Window], Awaitable[Sequence[Known]]]) -> OwnWords:
        """Return one with the same rules that finds what is known by another function."""
        other = copy(self)
        other._known_of = known_of  # noqa: SLF001 - of its own kind
        return other

    def behind(self, decided: Callable[[], Awaitable[None]]) -> OwnWords:
        """Return one that waits, before it asks what is known, until what was read before is decided."""

        async def known_of(window: Window) -> Sequence[Known]:
            await decided()
            return await self._known_of(window)

        return self.knowing(known_of)

    async def fact_of(self, window: Window) -> FactRead:
        """Return what a window of one piece says, whether or not it lasts. Raises Outage and Rejected.

        Nothing where it only shows something, and only a day where it is no single sentence: it is one memory, and what
        ends one sentence of it would end all.
        """
        reading = await self._reader.read(window)
        if reading.dropped:
            return FactRead()
        kept = await self._scored(reading.statements)
        found = [_fact(one.statement, window) for one in kept]
        days = {when(window, one) for one in found} - {None}
        day = days.pop() if len(days) == 1 else None
        if len(found) != 1:
            return FactRead(occurred_on=day)
        [fact], statement = found, kept[0].statement
        fact = replace(fact, content=statement.said)
        ended, _ = await self._moved_on(window, [fact], {}, {fact.content: kept[0].over})
        ends = ended[0].ends or await self._denied(window, fact, statement.said)
        return FactRead(attribute=fact.attribute, value=fact.value, occurred_on=day, ends=ends)

    async def _denied(self, window: Window, fact: Proposal, text: str) -> tuple[str, ...]:
        """Return what fills the same list as a fact that says of it that it is no longer so: "spaces, not tabs"."""
        if fact.attribute is None:
            return ()
        same = (one for one in await self._known(window) if one.attribute == fact.attribute and one.about is None)
        return tuple(one.memory_id for one in same if one.value and denies_value(text, one.value))

    async def extract(self, window: Window) -> Extraction:
        """Return what lasts of a window, in the order of the words. Raises Outage and Rejected."""
        reading = await self._reader.read(window)
        scored = await self._scored(reading.statements)
        mends: dict[str, str] = {}
        proposals: list[Proposal] = []
        doubtful: dict[str, bool] = {}
        over: dict[str, float] = {}
        for kept in _joined(scored):
            found = _proposals(kept, window)
            proposals += found
            over |= {one.content: kept.over for one in found}
            mends |= {one.content: kept.statement.mends for one in found[:1] if kept.statement.mends}
            doubtful |= {} if kept.is_lasting else {one.content: kept.is_passing for one in found}
        # Whether a nickname is the user's name depends on the names that are known: those come first.
        proposals.sort(key=lambda one: one.attribute == NICKNAME)
        proposals, known = await self._told_apart(window, _once(proposals))
        proposals, shown = await self._moved_on(window, proposals, mends, over, known)
        lasting = (one if one.ends or one.content not in doubtful else _passing(one) for one in proposals)
        kept_ones = tuple(one for one in lasting if one.ends or doubtful.get(one.content, True))
        return Extraction(proposals=kept_ones, dropped=reading.dropped, shown=shown)

    async def _told_apart(
        self, window: Window, proposals: list[Proposal]
    ) -> tuple[list[Proposal], Sequence[Known] | None]:
        """Return proposals without the names that the relation tells, and without keys of one of several.

        With them what is known, where it was asked for.
        """
        others = [one.about for one in proposals if one.about is not None]
        if not any(map(is_one_of_some, others)):
            return proposals, None
        known = await self._known(window)
        kept = iter(without_names(others, known))
        return [one if one.about is None else _of_one(one, one.about, next(kept)) for one in proposals], known

    async def _moved_on(
        self,
        window: Window,
        proposals: list[Proposal],
        mends: Mapping[str, str],
        over: Mapping[str, float],
        recalled: Sequence[Known] | None = None,
    ) -> tuple[list[Proposal], tuple[str, ...]]:
        """Return proposals with what each ends of what is known.

        `over` has how surely the sentences of each content say that something is over. `mends` has the contents that
        take a word of an earlier sentence back, with that sentence, whose place they take. `recalled` is what is known,
        where that was asked for already.
        """
        changes = {
            n: without_days(mends.get(one.content) or _ASKED.sub("", _as_said(one.content, one.speaker)))
            for n, one in enumerate(proposals)
            if _is_change(one, over.get(one.content, 0.0)) or (one.content in mends and one.attribute is None)
        }
        if not changes or window.source_type != "chat":
            return proposals, ()
        said = {one.content for one in proposals}
        recalled = await self._known(window) if recalled is None else recalled
        known = [one for one in recalled if one.text not in said]
        if not known:
            return proposals, ()
        texts = [_as_said(one.text, one.about) for one in known]
        mended = {n: text for n, text in changes.items() if proposals[n].content in mends}
        others = {n: text for n, text in changes.items() if n not in mended}
        try:
            ends = dict(zip(mended, await self._endings.mended(list(mended.values()), texts), strict=True))
            ends |= zip(others, await self._endings.of(list(others.values()), texts), strict=True)
        except EmbedderUnavailable as error:
            raise _away(error) from error
        today = max(piece.today for piece in window.pieces)
        ended = list(proposals)
        for n, text in changes.items():
            one = proposals[n]
            over_now = (other for other, is_over in zip(known, ends[n], strict=True) if is_over)
            if one.category == SCHEDULE and one.occurred_on and one.occurred_on > today:  # not yet so
                over_now = (other for other in over_now if other.day is None or other.day >= today)
            ended[n] = replace(one, ends=tuple(other.memory_id for other in over_now if _may_end(one, text, other)))
        return ended, tuple(one.memory_id for one in known)

    async def _known(self, window: Window) -> Sequence[Known]:
        """Return what is known; nothing where that cannot be found, for the words are kept all the same."""
        try:
            return await self._known_of(window)
        except (LookupError, TypeError, ValueError, AttributeError):
            log.exception("what is known was not found for a window of %d pieces", len(window.pieces))
            return ()

    async def _vectors(self, texts: Sequence[str]) -> Vectors:
        try:
            return await self._embed(texts)
        except EmbedderUnavailable as error:
            raise _away(error) from error

    async def _scored(self, statements: Sequence[Statement]) -> list[_Kept]:
        kept: list[_Kept] = []
        says_key = False
        for one, heard in zip(statements, await self._heard(statements), strict=True):
            score = heard.lasting
            carries = one.behind is not None and heard.alone < ALONE
            lives = one.before is not None or bool(one.lives_from) or carries
            found = one if lives or one.is_certain or heard.own >= OF_SPEAKER else replace(one, keys=())
            is_apart = says_key and _is_change_of_its_own(one, heard.over)
            if one.behind is not None and carries and not one.keys and not is_apart:
                found = _carrying(found, one.behind)
            says_key = bool(one.keys)
            if unnamed(one.said) and not (found.before or found.asked or in_first_person(one.said)):
                score, found = min(score, SHORT_LIVED), replace(found, is_brief=True)  # of whom is not known
            says_something = heard.kept >= KEPT
            kept.append(
                _Kept(
                    found, score, says_something=says_something, alone=heard.alone, over=heard.over, beside=one.behind
                )
            )
        await self._by_clauses([one for one in kept if one.statement.asks or not one.is_lasting])
        return kept

    async def _heard(self, statements: Sequence[Statement]) -> list[_Heard]:
        """Return what the heads tell of statements."""
        if not statements:
            return []
        read = [_as_read(one) for one in statements]
        questions = [one.question or said for one, (said, _) in zip(statements, read, strict=True)]
        distinct = list(dict.fromkeys([*(text for texts in read for text in texts), *questions]))
        vectors = await self._vectors(distinct)
        at = {text: place for place, text in enumerate(distinct)}
        lasting, own, kept, alone = (
            dict(zip(distinct, self._heads.scores(head, vectors).tolist(), strict=True)) for head in HEADS
        )
        over = dict(zip(distinct, self._heads.scores_of_over(distinct, vectors).tolist(), strict=True))
        pair = vectors[[at[said] for said, _ in read]], vectors[[at[question] for question in questions]]
        answers = zip(*(self._heads.scores_of_answers(head, *pair).tolist() for head in ANSWER_HEADS), strict=True)
        found = []
        for one, (said, whole), answer in zip(statements, read, answers, strict=True):
            lasts, says = answer if one.question else (lasting[said], kept[said])
            if one.means:
                lasts, says = max(lasts, lasting[whole]), max(says, kept[whole])
            is_own = max(own[said], own[whole])
            found.append(_Heard(lasting=lasts, kept=says, own=is_own, alone=alone[said], over=over[said]))
        return found

    async def _by_clauses(self, doubtful: Sequence[_Kept]) -> None:
        """Have sentences last of which one clause surely does, whatever else they say or ask for."""
        parts = {
            part: one
            for one in doubtful
            for part in clauses(one.statement.said)
            if part != one.statement.said and len(terms(part)) > 1 and not asks_for_something(part)
        }
        if not parts:
            return
        vectors = await self._vectors(list(parts))
        lasting, says = (self._heads.scores(head, vectors).tolist() for head in ("lasting", "kept"))
        for one, score, kept in zip(parts.values(), lasting, says, strict=True):
            if score >= OF_CLAUSE and kept >= KEPT:
                one.score, one.says_something = max(one.score, score), True
                one.statement = replace(one.statement, asks=False)


def _is_change_of_its_own(one: Statement, over: float) -> bool:
    """Return whether a sentence says that something is over, and of what: "Rufus died." after "We moved to Bath."."""
    return over >= OF_ITS_OWN and unnamed(one.said) is None and len(terms(one.said)) >= FEW_TERMS


def _away(error: EmbedderUnavailable) -> Outage:
    return Outage(f"the built-in encoder is away: {error}")


def _as_read(one: Statement) -> tuple[str, str]:
    """Return a sentence as the heads read it alone, and with what it answers."""
    of_another = unnamed(one.said) or (one.before and leaves_out_whom(one.said, one.before))
    alone = with_stand_in(one.said) if of_another and (one.before or one.asked) else one.said
    return alone, one.means or f"{one.asked or ''} {alone}".strip()


def _width(text: str) -> int:
    """Return how wide a text is: a Chinese character says as much as two letters and more."""
    return len(text) + len(HAN.findall(text))


def _carrying(one: Statement, behind: str) -> Statement:
    """Return a statement with what stands before it: the question that it answers, or a sentence of its turn."""
    if one.behind_at is None:
        return replace(one, before=behind)
    return replace(one, asked=behind, lives_from=(*one.lives_from, one.behind_at))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heard:
    """What the heads tell of a statement, each from 0 to 1."""

    lasting: float
    kept: float
    own: float
    alone: float
    over: float


@dataclass(slots=True)
class _Kept:
    """A statement, how surely it lasts, and the sentences that are carried with it."""

    statement: Statement
    score: float
    text: str = ""
    says_something: bool = True
    alone: float = 1.0
    """How surely it is understood alone."""
    over: float = 0.0
    """How surely it says that something is over."""
    beside: str | None = None
    """The sentence before it in its turn, or the question."""
    has: set[str] = field(default_factory=set)
    """The sentences that it has: what lives from one of them belongs to it."""

    @property
    def is_certain(self) -> bool:
        one = self.statement
        return one.is_certain or bool(one.keys) or one.event is not None

    @property
    def is_lasting(self) -> bool:
        one = self.statement
        is_planned = (one.is_ahead and not one.is_brief) or (one.category in LASTS and in_first_person(one.said))
        return self.is_certain or (self.says_something and (is_planned or self.score >= LASTING))

    @property
    def is_passing(self) -> bool:
        said, carried = self.statement.said, self.statement.before
        return self.says_something and (in_first_person(said) or carried is not None) and is_read(said)

    @property
    def is_change(self) -> bool:
        """Whether it is worth keeping where it ends something that is known, however little it says."""
        return self.says_something and self.over >= OVER

    @property
    def is_kept(self) -> bool:
        if not is_read(self.statement.said):
            return self.is_certain
        return self.is_lasting or self.is_passing or self.is_change


def _joined(scored: Sequence[_Kept]) -> list[_Kept]:
    """Return what is kept; a sentence that lives from the one before it is joined to it, or carries it."""
    found: list[_Kept] = []
    for one in scored:
        statement = one.statement
        if not one.is_kept:
            continue
        last = found[-1] if found else None
        one.text, one.has = statement.text, {statement.text}
        before = statement.before or one.beside
        if before is not None:
            is_behind = last is not None and before in last.has and last.statement.piece == statement.piece
            if last is not None and is_behind and _fits(last, one):
                last.text = beside(last.text, statement.text)
                last.has |= one.has
                last.score, last.alone, last.over = max(last.score, one.score), one.alone, max(last.over, one.over)
                merged = last.statement
                last.statement = replace(
                    merged,
                    keys=(*merged.keys, *statement.keys),
                    event=merged.event or statement.event,
                    day=merged.day or statement.day,
                    asks=merged.asks and statement.asks,
                    is_brief=merged.is_brief and statement.is_brief,
                    is_joined=True,
                )
                continue
        if statement.before is not None:
            is_of_turn = not statement.lives_from
            carried = statement.before if is_of_turn else f"({statement.before})"
            one.text = beside(carried, statement.text)
            one.has.add(statement.before)
        found.append(one)
    return found


def _fits(last: _Kept, one: _Kept) -> bool:
    """Return whether a statement is joined to the memory of the one before it that it lives from."""
    is_short = len(last.text) + len(one.statement.text) <= LONGEST_TOGETHER
    first, then = last.statement.keys, one.statement.keys
    is_free = not first or not then or all(key.about for key in (*first, *then))
    if one.statement.before is not None:
        return is_free and (one.is_lasting or is_short)
    is_terse = min(_width(last.statement.said), _width(one.statement.said)) <= SHORT
    lasts = last.is_lasting and one.is_lasting and not (first or then)
    both_change = last.is_change and one.is_change  # then each ends something else
    return lasts and is_short and is_terse and not both_change and min(last.alone, one.alone) < SURE


def _proposals(kept: _Kept, window: Window) -> list[Proposal]:
    """Return the memories of a statement: its own words, and each further key's sentence."""
    one = kept.statement
    sources = (one.piece, *one.lives_from)
    allowed = [key for key in one.keys if not _forbids(window, key.content, key)]
    is_forbidden = len(allowed) < len(one.keys) or _forbids(window, kept.text)
    if one.is_said_by_keys or is_forbidden:
        return [_of_key(key, one, sources) for key in allowed]  # of what must not be kept no sentence says it
    if one.event is not None:
        return [_episode(kept, one.event, window, sources), *(_of_key(key, one, sources) for key in one.keys)]
    first, rest = (one.keys[0], one.keys[1:]) if one.keys else (None, ())
    is_lasting = (kept.is_lasting or kept.is_change) and not (one.asks or one.is_brief)
    importance = round(0.3 + 0.4 * kept.score, 2) if is_lasting and not one.is_seen else SHORT_LIVED
    whole = Proposal(
        content=_content(kept),
        category=one.category,
        memory_type="long_term" if is_lasting else "short_term",
        importance=max(first.importance, importance) if first else importance,
        attribute=first.attribute if first else None,
        value=first.value if first else None,
        about=first.about if first else None,
        occurred_on=(first and (first.occurred_on or first.since)) or (one.day if not first or one.is_ahead else None),
        sources=sources,
        speaker=one.speaker,
    )
    return [whole, *(_of_key(key, one, sources) for key in rest)]


def _fact(one: Statement, window: Window) -> Proposal:
    """Return a statement with its key where it has exactly one that is so now, and may be kept; and with its day."""
    keys = [key for key in one.keys if key.attribute and key.about is None and not one.asks]
    key = keys[0] if len(keys) == 1 else None
    day = key and (key.occurred_on or key.since)
    day = day or (one.day if key is None or one.is_ahead else None)
    if key is not None and (
        (key.attribute in STATES and day is not None and day > window.pieces[one.piece].today)
        or fault_of(key.attribute, key.value) is not None
        or _forbids(window, one.said, key)
    ):
        key = None
    return Proposal(
        content=one.text,
        category=one.category,
        memory_type="long_term",
        attribute=key.attribute if key else None,
        value=key.value if key else None,
        occurred_on=day,
        sources=(one.piece,),
    )


def _passing(one: Proposal) -> Proposal:
    """Return a proposal as what passes."""
    return replace(one, memory_type="short_term", importance=SHORT_LIVED)


def _forbids(window: Window, text: str, key: Finding | None = None) -> bool:
    """Return whether the window's policy keeps a key, or a sentence by what it speaks of, from being remembered."""
    if window.policy is None:
        return False
    category = key.category if key else category_of(text)
    attribute, value = (key.attribute, key.value) if key else (None, None)
    return window.policy.forbids(text, category=category, attribute=attribute, value=value) is not None


def _is_change(one: Proposal, over: float) -> bool:
    """Return whether a proposal may end what is known.

    Single keys of the user do so by themselves, others accumulate unless "now" is said, and what passes ends nothing.
    """
    says_what = len(terms(one.content)) >= FEW_TERMS
    is_now = is_instead(one.content)
    accumulates = one.attribute is None or one.about is not None or (is_now and one.attribute in LISTS)
    is_free = accumulates and one.event_type not in _HAPPENED
    return (over >= CHANGE or is_now) and says_what and is_free and one.memory_type == "long_term"


def _of_one(one: Proposal, about: str, kept: str | None) -> Proposal:
    """Return a proposal with whom it is kept about; without its key where that is one of several."""
    return replace(one, about=kept) if kept else replace(one, about=of_relation(about)[0], attribute=None, value=None)


def _may_end(one: Proposal, text: str, known: Known) -> bool:
    """Return whether a statement may be about the same as what is known: by whose it is, and about whom."""
    whose = subject_of(known.about)
    if one.about and known.attribute and (one.attribute or subject_of(one.about) != whose):  # the key decides
        return False
    if len(terms(_ASKED.sub("", known.text))) < FEW_TERMS:  # "I won't.": of what is not known
        return False
    is_same_owner = whose in (None, subject_of(one.speaker), subject_of(one.about)) or (
        whose in {subject_of(kin) for kin in of_whom(text)} or _names(text, known)
    )
    return is_same_owner and not (one.speaker and known.about != one.speaker) and of_whom(text) <= of_whom(known.text)


def _names(text: str, known: Known) -> bool:
    """Return whether a text has whom a known memory is about, or the name behind that: Rex of "My dog Rex is 12"."""
    about = (known.about or "").casefold()
    at = known.text.casefold().find(f"{about} ")
    name = None if at < 0 else _NAME.match(known.text, at + len(about) + 1)
    return about in text.casefold() or (name is not None and name.group() in _NAME.findall(text))


def _content(kept: _Kept) -> str:
    one = kept.statement
    content = f"({one.asked}) {kept.text}" if one.asked else kept.text
    return f"{one.speaker}: {content}" if one.speaker else content


def _as_said(content: str, speaker: str | None) -> str:
    """Return a memory's text without its speaker's name, which would make all that one speaker says alike."""
    return content.removeprefix(f"{speaker}: ") if speaker else content


def _of_key(key: Finding, one: Statement, sources: tuple[int, ...]) -> Proposal:
    content = key.content
    if one.speaker:
        content = _USER.sub(lambda _: one.speaker or "", content, count=1)
    return Proposal(
        content=content,
        category=key.category,
        memory_type="long_term",
        importance=key.importance,
        attribute=key.attribute,
        value=key.value,
        about=key.about,
        occurred_on=key.occurred_on or key.since or (one.day if one.is_ahead else None),
        sources=sources,
        speaker=one.speaker,
    )


def _episode(kept: _Kept, event: Finding, window: Window, sources: tuple[int, ...]) -> Proposal:
    """Return an event, with Luna's importance, and what upstream knew of it."""
    contexts: list[TurnContext] = [c for i in sources if (c := window.pieces[i].context)]
    mood = next((context.mood for context in contexts if context.mood), None)
    scene = next((context.scene for context in contexts if context.scene), None)
    content = _content(kept)
    is_date = event.event_type == "date" or _FIRST_DATE.search(content) is not None
    if is_date and scene and scene not in content:
        content = f"{content} ({scene})"
    intimacy = newest_intimacy(sources, window)
    return Proposal(
        content=content,
        kind="episodic",
        category=event.category,
        memory_type="short_term" if kept.statement.asks or kept.statement.is_brief else event.memory_type,
        importance=episode_importance(event.event_type, event.emotion_intensity, intimacy),
        event_type=event.event_type,
        emotion=event.emotion or mood,
        emotion_intensity=event.emotion_intensity,
        key_dialogue=event.key_dialogue,
        occurred_on=event.occurred_on or kept.statement.day,
        sources=sources,
        speaker=kept.statement.speaker,
    )


def _once(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Return proposals, those of the same words and key once, with the sources of each."""
    found: dict[tuple[object, ...], Proposal] = {}
    for one in proposals:
        key = (one.content.casefold(), one.attribute, one.value, one.speaker, one.about)
        if (same := found.get(key)) is not None:
            one = replace(same, sources=tuple(dict.fromkeys((*same.sources, *one.sources))))  # noqa: PLW2901
        found[key] = one
    return list(found.values())
