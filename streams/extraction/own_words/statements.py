"""Statements: what of a window may be remembered, each in its speaker's own words, with the keys that it fills.

Rules find keys, events and days in a sentence; they write none of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from projections.dates.wording import annotated, first_day
from projections.text.analyser import terms
from projections.text.reminders import asks_for_reminder
from projections.text.scripts import HAN
from projections.text.shown import said_of
from streams.extraction.evidence.speakers import others_of
from streams.extraction.own_words.answers import answered, asks_in, field_of, question_before
from streams.extraction.own_words.antecedents import (
    MOST_BACK,
    antecedent,
    begins_with_another,
    begins_with_whom,
    leaves_out_whom,
    of_whom,
    unnamed,
)
from streams.extraction.own_words.cues import (
    asks_for_good,
    asks_for_something,
    category_of,
    in_first_person,
    is_limited,
    is_of_the_moment,
    is_question,
    is_retraction,
    says_nothing,
)
from streams.extraction.own_words.letters import with_capitals
from streams.extraction.own_words.others import (
    ATTRIBUTES,
    NAME,
    Other,
    of_value,
    other_of,
    speaks_of_anybody,
    told_of_others,
)
from streams.extraction.own_words.splitting import beside, sentences, with_commas
from streams.extraction.own_words.splitting import clauses as clauses_of
from streams.extraction.own_words.starts import begun_by
from streams.extraction.rules import sentences as clauses
from streams.extraction.rules.cues import cues_beside
from streams.extraction.rules.feelings import chinese_feeling, english_feeling
from streams.extraction.rules.finding import SHARED, Finding
from streams.extraction.rules.screens import read_screen, shown_together
from streams.extraction.rules.sentence_reader import liked_of_turn_before, read_sentence
from streams.extraction.rules.traditional import as_written, simplified
from streams.extraction.wishes.repairs import is_unclear, repaired_behind, takes_back

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date

    from streams.extraction.protocol import Piece, Window

_CUES: Final = cues_beside(__file__)
_DIGITS: Final = re.compile(r"\d+")

SHOWN: Final = "shown, not said"
_END: Final = 40
"""Characters by which the end of a piece is told: where it is shown, the next piece goes on with it."""
LONGEST_CARRIED: Final = 300
"""Characters of a sentence that another one carries to be understood."""
SCRAP: Final = 8
"""Words or Chinese characters, of which fewer beside a text that is shown say nothing of their own."""
_TASTES: Final = frozenset(
    {"likes", "dislikes", "interests", "allergies", "skills", "sensitive_topics", "usage_patterns"}
)
LONGEST_FELT: Final = 100
_KNOWN: Final = frozenset({"family", "friends", "pet_names"})
"""Keys of the user that name others."""
_IDENTITY: Final = frozenset({"user_name", "age", "birthday", "city", "employer", "occupation"})
_LITTLE: Final = frozenset("我我的是在叫了呢啊呀吧哦嗯今年岁也就都有的很一个和，。！,.!～~ 用户")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A sentence that may be remembered."""

    said: str
    """Word for word."""
    piece: int
    """The index of its piece."""
    before: str | None = None
    """The sentence before it as its text, where it lives from that."""
    behind: str | None = None
    """What it carries if it does not stand alone: the sentence before it in its turn, or the question before it."""
    behind_at: int | None = None
    """The index of the piece of that question."""
    asked: str | None = None
    """The question that it answers, where it would not stand alone."""
    question: str | None = None
    """What was asked just before it."""
    lives_from: tuple[int, ...] = ()
    """The indexes of the pieces that it takes up: what they asked, of whom they spoke, what it likes, or repairs."""
    mends: str | None = None
    """The sentence of an earlier piece of which it takes a word back: it stands in the place of that."""
    means: str | None = None
    """What it says yes or no to, as its speaker would state it."""
    speaker: str | None = None
    """Whose words they are, where that is not the user."""
    keys: tuple[Finding, ...] = ()
    """What it fills; the content of each is the key's sentence."""
    event: Finding | None = None
    """The event that it tells."""
    text: str = ""
    """Word for word, with the days that it means."""
    day: date | None = None
    """On which it happened, or happens."""
    is_ahead: bool = False
    """Whether that day, or its span, is still to come."""
    category: str = "fact"
    asks: bool = False
    """Whether it asks the listener to do something, once."""
    is_brief: bool = False
    """Whether it is over today."""
    is_certain: bool = False
    """Whether it is kept whatever the heads say."""
    is_joined: bool = False
    """Whether another sentence was joined to it."""
    is_seen: bool = False
    """Whether it stood on a screen, and nobody said it."""

    @property
    def is_said_by_keys(self) -> bool:
        """Whether the keys' own sentences say all that was said."""
        if not self.keys or self.keys[0].about or self.event or self.is_joined or self.before or self.asked:
            return False
        if any(key.content == self.said and key.about is None for key in self.keys):
            return False
        told = " ".join(f"{key.content} {key.value}" for key in self.keys if key.about is None)
        if HAN.search(self.said):
            return set(simplified(self.said)) - set(simplified(told)) <= _LITTLE
        return set(terms(self.said)) <= set(terms(told)) | _FILLERS


_FILLERS: Final = frozenset(
    terms("hi hello hey well oh yes i'm im i've my name is by the way currently now really old live lives living")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the rules read in a window."""

    statements: tuple[Statement, ...]
    dropped: tuple[str, ...] = ()


def read_window(window: Window) -> Reading:
    """Return the statements of a window, in order. A rule with a bug may raise: the caller rejects the window then."""
    found: list[Statement] = []
    dropped: list[str] = []
    shown: set[str] = set()
    others = others_of(window)
    for index, piece in enumerate(window.pieces[window.earlier :], window.earlier):
        if piece.speaker == "user":
            found += _gift(piece, index)
            if piece.event_id in shown:  # it goes on with a text that its first piece shows
                dropped.append(f"piece {index + 1}: {SHOWN}")
                continue
            said = said_of(piece.text)
            if said != piece.text:
                dropped.append(f"piece {index + 1}: {SHOWN}")
            if said.rstrip()[-_END:] != piece.text.rstrip()[-_END:]:
                shown.add(piece.event_id)
            of_turn = _of_turn(window, index, said, others.get(index))
            found += of_turn if said == piece.text else (one for one in of_turn if one.keys or not _is_scrap(one.said))
        elif piece.speaker in ("screenshot", "article"):
            found += _seen(piece, index, dropped.append)
    mended = {(place, one.mends) for one in found if one.mends is not None for place in one.lives_from}
    kept = tuple(one for one in found if (one.piece, one.said) not in mended)
    return Reading(statements=kept, dropped=tuple(dropped))


def _of_turn(window: Window, index: int, own: str, speaker: str | None) -> Iterator[Statement]:
    """Yield the statements of a piece of a turn, of which `own` is said and not shown."""
    pieces = window.pieces
    piece = pieces[index]
    asked_by, asked = question_before(window, index)
    asks = asks_in(asked) if asked else []
    taken_up = None if asked and _CUES["denies"].match(own) else _taken_up(pieces, index, own)
    liked, told_at = _liked_before(pieces, index)
    told: list[str] = []
    named: dict[str, Other] = {}
    clauses_before: tuple[str, ...] = ()
    parts = _in_parts(own)
    for number, part in enumerate(parts):
        if any(map(is_retraction, parts[number : number + 2])):
            told = []
            continue
        mends, mended_at = taken_up if number == 0 and taken_up else (None, None)
        sentence, meant = _mended(part, mends, piece)
        keys, event, clauses_before = _findings(meant or sentence, piece, clauses_before)
        keys += liked if number == 0 else []
        field = [] if keys else field_of(sentence)
        keys = keys or field
        said = _before_question(sentence) if is_question(sentence) or asks_for_reminder(sentence) else sentence
        continues = number < len(asks) or (bool(asks) and number == 1 and _CUES["also"].match(sentence) is not None)
        asked_here = asks[min(number, len(asks) - 1)] if continues else None
        answer = answered(asked_here, sentence) if asked_here is not None else None
        if answer is not None and not keys:
            keys = list(answer.keys)
            if answer.agrees_to:
                keys, _, _ = _findings(answer.agrees_to, piece, ())
        keys = keys if meant else []
        text = said or sentence
        if (said and (answer is not None or not says_nothing(said))) or keys or event:
            one = _statement(text, index, piece, keys, said if meant in (None, sentence) else meant)
            before, said_at = (None, None) if field else _carried(window, index, one.said, told)
            is_asked = answer is not None and not answer.stands_alone
            question = asked if is_asked or (before is not None and before == asked) else None
            if question is not None and said_at is not None and before != asked:
                question = beside(before or "", question)
            if speaker is not None:
                one = replace(one, keys=tuple(key for key in one.keys if key.about is None))
            elif meant:
                one = _with_others(one, meant, before, named, piece)
            places = (asked_by if question else None, said_at, mended_at, told_at if number == 0 else None)
            is_first = number == 0 and asked is not None and not is_question(sentence)
            behind = asked if is_first else told[-1] if told and not says_nothing(told[-1]) else None
            is_apart = before or question or behind is None or len(behind) > LONGEST_CARRIED
            yield replace(
                one,
                before=None if question else before,
                behind=None if is_apart else behind,
                behind_at=asked_by if is_first and not is_apart else None,
                asked=question,
                question=asked_here,
                mends=mends,
                lives_from=tuple(dict.fromkeys(place for place in places if place is not None)),
                means=None if answer is None else answer.agrees_to or answer.denies,
                speaker=speaker,
                event=event,
                is_brief=one.is_brief or _is_mood(event, sentence),
                is_certain=bool(field)
                or asks_for_good(one.said)
                or (meant is not None and (sentence, meant) != (part, part)),  # who mends it wants it kept
            )
            text = one.text
        told.append(text)


def _carried(window: Window, index: int, said: str, told: Sequence[str]) -> tuple[str | None, int | None]:
    """Return the sentence that another one lives from, and the index of its piece where that is an earlier one.

    `told` are the sentences before it in its own piece.
    """
    if told and leaves_out_whom(said, told[-1]):
        return told[-1], None
    who = unnamed(said)
    if who is None:
        return None, None
    near = antecedent(who, reversed(told))
    near = told[-1] if near is None and told and not says_nothing(told[-1]) else near
    if near is not None:
        return (near, None) if len(near) <= LONGEST_CARRIED else (None, None)
    if not begins_with_whom(said):
        return None, None
    piece, pieces = window.pieces[index], window.pieces
    for place in range(index - 1, max(-1, index - 1 - MOST_BACK), -1):
        is_own = (pieces[place].speaker, pieces[place].name) == (piece.speaker, piece.name)
        if is_own or place == index - 1:  # else somebody else's words, of which only what they just asked counts
            said_there = reversed(sentences(said_of(pieces[place].text)))
            found = antecedent(who, (one for one in said_there if is_own or is_question(one)))
            if found is not None:
                return (found, place) if len(found) <= LONGEST_CARRIED else (None, None)
    return None, None


def _is_scrap(said: str) -> bool:
    """Return whether a sentence is no more than what hands over the text that is shown beside it."""
    return asks_for_something(said) or len(said.split()) + len(HAN.findall(said)) < SCRAP


def _in_parts(own: str) -> list[str]:
    """Return the sentences of a text; one that takes back a word of the one before stands with it."""
    parts: list[str] = []
    for sentence in sentences(own):
        if parts and takes_back(sentence):
            parts[-1] = beside(parts[-1], sentence)
        else:
            parts.append(sentence)
    return parts


def _taken_up(pieces: Sequence[Piece], index: int, own: str) -> tuple[str, int] | None:
    """Return the sentence of the speaker's turn before of which a piece takes a word back, and that turn's index."""
    piece = pieces[index]
    if not takes_back(own):
        return None
    before = (i for i in range(index - 1, -1, -1) if pieces[i].speaker == "user" and pieces[i].name == piece.name)
    said_at = next(before, None)
    said = [] if said_at is None else _in_parts(said_of(pieces[said_at].text))
    return (said[-1], said_at) if said and said_at is not None and len(said[-1]) <= LONGEST_CARRIED else None


def _mended(part: str, before: str | None, piece: Piece) -> tuple[str, str | None]:
    """Return a sentence, behind the one that it mends, and as it is meant: with the last word counting.

    The words stay as they were said, but where a key changes its value, or a number. None where it is not clear what is
    meant.
    """
    after = repaired_behind(before and with_commas(before), with_commas(part))
    if before is None and after == with_commas(part):
        return part, None if is_unclear(part) else part
    whole = part if before is None else beside(before, part)
    if after in (part, whole) or is_unclear(after):
        return whole, None
    wrong, right = (
        {(key.attribute, key.value) for key in _findings(text, piece, ())[0]} for text in (before or part, after)
    )
    of_number = with_commas(whole) != after and _DIGITS.sub("0", whole).startswith(
        _DIGITS.sub("0", after.rstrip(".。"))
    )
    return (after, after) if of_number or (right and wrong != right) else (whole, after)


def _statement(said: str, index: int, piece: Piece, keys: list[Finding], meant: str) -> Statement:
    """Return a sentence with its category, and with the day that is meant."""
    when = first_day(meant or said, piece.said_at)
    is_at = when is not None and (when.is_day or (when.relative and not when.first <= piece.today <= when.last))
    day = when.first if when is not None and is_at else None  # "this year" is no day, but the time that it is said
    is_ahead = day is not None and when is not None and when.last >= piece.today and _is_ahead(said, day, piece)
    if is_ahead and not keys and not is_limited(said) and not begins_with_another(simplified(said)):
        keys = begun_by(said)
    category = keys[0].category if keys else "schedule" if is_ahead else category_of(said)
    return Statement(
        said=said,
        text=annotated(said, piece.said_at),
        piece=index,
        keys=tuple(keys),
        day=day,
        is_ahead=is_ahead,
        category=category,
        asks=any(map(asks_for_something, clauses_of(said))) and not asks_for_good(said),
        is_brief=is_of_the_moment(said) or (is_ahead and day == piece.today and when is not None and when.is_day),
    )


def _is_ahead(said: str, day: date, piece: Piece) -> bool:
    return day > piece.today or _CUES["to_come"].search(said) is not None


def _liked_before(pieces: Sequence[Piece], index: int) -> tuple[list[Finding], int | None]:
    """Return what a turn likes of the user's turn before, and that one's index."""
    names = {piece.name for piece in pieces[: index + 1] if piece.speaker == "user"}
    found = list(liked_of_turn_before(pieces, index)) if len(names) == 1 else []
    return [key for key, _ in found], found[0][1] if found else None


def _findings(
    sentence: str, piece: Piece, before: tuple[str, ...]
) -> tuple[list[Finding], Finding | None, tuple[str, ...]]:
    """Return the keys that the rules find in a sentence, the event, and the last clauses up to its end.

    `before` are the last clauses before it.
    """
    spelt = with_capitals(with_commas(sentence))
    plain = simplified(spelt)
    keys: list[Finding] = []
    event: Finding | None = None
    limited = is_limited(sentence)
    for part in clauses.sentences(plain):
        after = (*before, *part.after)[-clauses.MOST_AFTER :]
        before = (*before, *part.clauses)[-clauses.MOST_AFTER :]
        for finding in read_sentence(replace(part, after=after), piece.today):
            if finding.attribute is not None and not (limited and finding.attribute in _TASTES):
                key = finding if plain == spelt else as_written(finding, plain, spelt)
                if key.about is not None:
                    keys.append(replace(key, content=sentence))
                elif _is_sound(key, sentence):
                    keys.append(replace(key, content=key.content[:1].upper() + key.content[1:]))
            elif finding.kind == "episodic":
                event = event or finding
    return keys, event or _felt(sentence), before


def _with_others(one: Statement, meant: str, before: str | None, named: dict[str, Other], piece: Piece) -> Statement:
    """Return a statement with the keys of the others of whom it speaks as it is meant, each in words of its own.

    They have the whole sentence before the names of those whom the user knows.
    """
    spelt = with_capitals(with_commas(meant))
    plain = simplified(spelt)
    carried = other_of(simplified(before)) if before else None
    if not (carried or named or speaks_of_anybody(plain)):
        return one
    found: list[Finding] = []
    told = (of_whom for part in clauses.sentences(plain) for of_whom in told_of_others(part, carried, named))
    for whom, said in told:
        reads = [*read_sentence(said, piece.today)] or (begun_by("，".join(said.clauses)) if one.is_ahead else [])
        reads = [read if plain == spelt else as_written(read, plain, spelt) for read in reads if read.attribute]
        for read in reads:
            attribute, value = ATTRIBUTES.get(read.attribute or ""), read.value or ""
            if attribute is None or _CUES["time"].fullmatch(value) or (is_limited(one.said) and attribute in _TASTES):
                continue
            if attribute == NAME:
                named.setdefault(value, whom)
                if any(value in (key.value or "") for key in one.keys if key.attribute in _KNOWN):
                    continue  # the user's own key has it
            among = [other.value or "" for other in reads if other.attribute == read.attribute]
            words = of_value(one.text, value, among, whom)
            of_them = replace(read, attribute=attribute, about=whom.about, category=category_of(words))
            found.append(replace(of_them, content=words))
    return replace(
        one, keys=(*found, *one.keys) if all(k.attribute in _KNOWN for k in one.keys) else (*one.keys, *found)
    )


def _is_sound(key: Finding, sentence: str) -> bool:
    """Return whether the value of a key can be one, and is the speaker's where a Chinese sentence names none."""
    if key.attribute not in _IDENTITY:
        return True
    is_of_another = HAN.search(sentence) and not in_first_person(sentence) and (of_whom(sentence) or unnamed(sentence))
    return not is_of_another and _CUES["time"].fullmatch(key.value or "") is None


def _is_mood(event: Finding | None, sentence: str) -> bool:
    """Return whether an event is a feeling of the day."""
    return event is not None and event.event_type == SHARED and _CUES["of_today"].search(sentence) is not None


def _felt(sentence: str) -> Finding | None:
    """Return what a short sentence in the first person feels, as something that its speaker shares."""
    if len(sentence) > LONGEST_FELT or not _CUES["feels"].search(sentence) or is_limited(sentence):
        return None
    feeling = (chinese_feeling if HAN.search(sentence) else english_feeling)(sentence)
    if feeling is None:
        return None
    return Finding(
        content=sentence,
        kind="episodic",
        event_type=SHARED,
        emotion=feeling.emotion,
        emotion_intensity=feeling.intensity,
        key_dialogue=(sentence,),
    )


def _before_question(sentence: str) -> str:
    """Return the clauses before the one that asks: 我下周去东京，有什么推荐吗？ says that the user goes to Tokyo."""
    said = sentence[: sentence.rindex(clauses_of(sentence)[-1])].rstrip("，,；; -–—")
    return said if len(terms(said)) > 1 and not _CUES["supposes"].search(said) else ""


def _gift(piece: Piece, index: int) -> Iterator[Statement]:
    """Yield the gift that the user gave with these words, which upstream names in the turn's context."""
    gift = (piece.context.gift or "").strip() if piece.context else ""
    if gift:
        words = piece.text.strip()[:200]
        content = f"用户送了礼物：{gift}" if HAN.search(gift + words) else f"User gave a gift: {gift}"
        event = Finding(content=content, kind="episodic", event_type="gift", key_dialogue=(words,) if words else ())
        yield Statement(said=content, text=content, piece=index, event=event, is_certain=True)


def _seen(piece: Piece, index: int, dropped: Callable[[str], None]) -> Iterator[Statement]:
    """Yield what a screen or an article shows: lines with a label or a form that is known, and the others together."""
    labelled = list(read_screen(piece.text, piece.today, dropped))
    for line in labelled:
        yield Statement(
            said=line.content,
            text=annotated(line.content, piece.said_at),
            piece=index,
            day=line.occurred_on,
            category=line.category,
            is_brief=line.memory_type == "short_term",
            is_certain=True,
        )
    known = {line.content for line in labelled}
    for part in shown_together(piece.text, known):
        yield Statement(
            said=part, text=part, piece=index, is_brief=not piece.is_relevant, is_certain=True, is_seen=True
        )
