"""The pipeline that reads a sentence: the same steps for each language, with a table of rules of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from streams.extraction.rules.addressed import SHARED, addressed
from streams.extraction.rules.finding import without_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import date

    from streams.extraction.rules.finding import Finding
    from streams.extraction.rules.sentences import Sentence


class _Claim(Protocol):
    @property
    def continues(self) -> bool:
        """Whether a clause leaves out its subject and goes on from the clause before it."""


Clause = TypeVar("Clause", bound=_Claim)


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageRules(Generic[Clause]):
    """The rules of one language. All but `avoided` and `confided` see only clauses that claim something."""

    avoided: Callable[[str], Iterator[Finding]]
    """Topics that a clause asks not to speak of: a request, and no claim."""
    confided: Callable[[Sentence, date], Iterator[Finding]]
    """Events that a sentence as a whole tells."""
    claims: Callable[[Sentence], Iterator[Clause]]
    """The clauses that claim something, with whom they speak of."""
    statements: tuple[Callable[[Clause], Iterator[Finding]], ...]
    """What a clause says of the user, in the order in which findings are proposed."""
    life: Callable[[Clause, date], Iterator[Finding]]
    """Plans, habits, money, projects and whereabouts."""
    events: Callable[[Clause, date], Iterator[Finding]]
    """What happened."""
    biography: Callable[[Clause], Iterator[Finding]]
    """What a clause tells of the user's life, where nothing else was found in it."""
    topics: Callable[[Clause], Iterator[Finding]]
    """What else a clause tells of the user, known by what it speaks of, where the sentence tells no event."""
    liked: Callable[[Sentence], Iterator[Finding]]
    """What a sentence says is liked of what the clauses before it tell."""
    names_place: Callable[[str], bool]
    """Whether a clause says where something is or was: what 那里 and "there" may point to."""
    asked: tuple[Callable[[str], Iterator[Finding]], ...]
    """What a clause that is no claim says all the same: a doctor's word, and how the user asks to be answered."""

    def read(self, sentence: Sentence, today: date) -> Iterator[Finding]:
        """Yield what a sentence that was said on `today` says of the user; nothing when in doubt."""
        if sentence.quotes:
            return
        styles: list[Finding] = []
        for clause_text in sentence.clauses:
            yield from self.avoided(clause_text)
            for finding in (finding for rule in self.asked for finding in rule(clause_text)):
                if finding.attribute == "communication_style":
                    styles.append(finding)
                else:
                    yield finding
        yield from _one_style(styles)
        confided = list(self.confided(sentence, today))
        events = [*confided]
        shared = list(addressed(sentence, today))
        found: list[Finding] = []
        told: Finding | None = None
        for clause in self.claims(sentence):
            said = [finding for rule in self.statements for finding in rule(clause)]
            said += self.life(clause, today)
            happened = list(self.events(clause, today))
            found += said
            events += happened
            more: list[Finding] = []
            if not said and not happened and not confided:
                more = list(self.biography(clause)) or ([] if shared else list(self.topics(clause)))
            if told and more and clause.continues:  # 我想学游泳，暑假报了班: the second makes no sense alone
                found.remove(told)
                more = [_joined(told, more[0])]
            found += more
            last = (said + more)[-1:]
            told = last[0] if last and last[0].attribute is None else None
        yield from found
        yield from self.liked(sentence)
        if all(event.event_type == SHARED for event in events):  # a feeling about an event is a part of it
            events += shared
        yield from without_parts(events)


def _one_style(styles: list[Finding]) -> Iterator[Finding]:
    """Yield the ways of replying that a sentence asks for as one: the slot holds one value, the newest."""
    if styles:
        first = styles[0]
        mark = "，" if first.content.startswith("用户") else ", "
        yield replace(
            first,
            value=mark.join(style.value or "" for style in styles),
            content=mark.join([first.content, *(style.value or "" for style in styles[1:])]),
        )


def _joined(told: Finding, more: Finding) -> Finding:
    """Return a finding with the words of the one that goes on from it, whose subject is the same."""
    chinese = told.content.startswith("用户")
    words = more.content.removeprefix("用户" if chinese else "User ")
    return replace(told, content=f"{told.content}{'，' if chinese else ', '}{words}")
