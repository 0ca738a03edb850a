"""The pipeline that reads a sentence: the same steps for each language, with a table of rules of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from streams.extraction.rules.addressed import SHARED, addressed
from streams.extraction.rules.finding import without_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import date

    from streams.extraction.rules.finding import Finding
    from streams.extraction.rules.sentences import Sentence

Clause = TypeVar("Clause")


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
        for clause_text in sentence.clauses:
            yield from self.avoided(clause_text)
            for rule in self.asked:
                yield from rule(clause_text)
        confided = list(self.confided(sentence, today))
        events = [*confided]
        shared = list(addressed(sentence, today))
        for clause in self.claims(sentence):
            said = [finding for rule in self.statements for finding in rule(clause)]
            said += self.life(clause, today)
            happened = list(self.events(clause, today))
            yield from said
            events += happened
            if not said and not happened and not confided:
                yield from list(self.biography(clause)) or ([] if shared else self.topics(clause))
        yield from self.liked(sentence)
        if all(event.event_type == SHARED for event in events):  # a feeling about an event is a part of it
            events += shared
        yield from without_parts(events)
