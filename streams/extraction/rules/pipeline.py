"""The pipeline that reads a sentence: the same steps for each language, with a table of rules of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from projections.dates.cues import since
from streams.extraction.rules.addressed import SHARED, addressed
from streams.extraction.rules.finding import without_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import date

    from streams.extraction.rules.finding import Finding
    from streams.extraction.rules.sentences import Sentence


class _Claim(Protocol):
    @property
    def text(self) -> str:
        """The clause."""

    @property
    def continues(self) -> bool:
        """Whether a clause leaves out its subject and goes on from the clause before it."""

    @property
    def theirs(self) -> bool:
        """Whether it leaves out its subject behind the name of another being, whom it speaks of then."""


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
    """What a clause fills of the user's profile."""
    events: Callable[[Clause, date], Iterator[Finding]]
    """What happened."""
    liked: Callable[[Sentence], Iterator[Finding]]
    """What a sentence says is liked of what the clauses before it tell."""
    names_place: Callable[[str], bool]
    """Whether a clause says where something is or was: what 那里 and "there" may point to."""
    asks_of_another: Callable[[Sentence], bool | None]
    """Whether a question to the user is about somebody else; None where it is not known whom it is about."""
    tells_of_another: Callable[[Sentence], bool]
    """Whether what comes behind a sentence without a subject is said of somebody whom the sentence names."""
    asked: tuple[Callable[[str], Iterator[Finding]], ...]
    """What a clause that is no claim says all the same: how the user asks to be answered."""

    def read(self, sentence: Sentence, today: date) -> Iterator[Finding]:
        """Yield the keys and events of a sentence that was said on `today`; nothing when in doubt."""
        if sentence.quotes:
            return
        yield from self._requested(sentence)
        events = [*self.confided(sentence, today)]
        for clause in self.claims(sentence):
            if clause.theirs:
                continue
            for finding in (finding for rule in self.statements for finding in rule(clause)):
                if finding.attribute is not None:
                    yield _since(finding, clause.text, today)
            events += self.events(clause, today)
        yield from self.liked(sentence)
        if all(event.event_type == SHARED for event in events):  # a feeling about an event is a part of it
            events += addressed(sentence, today)
        yield from without_parts(events)

    def _requested(self, sentence: Sentence) -> Iterator[Finding]:
        """Yield what a sentence asks to avoid, and how to answer."""
        styles: list[Finding] = []
        for text in sentence.clauses:
            yield from self.avoided(text)
            for finding in (finding for rule in self.asked for finding in rule(text)):
                if finding.attribute == "communication_style":
                    styles.append(finding)
                elif finding.attribute is not None:
                    yield finding
        yield from _one_style(styles)


_LASTS: Final = ("city", "employer", "occupation", "relationship_status")


def _since(finding: Finding, text: str, today: date) -> Finding:
    """Return a finding of what lasts with the day from which it is so, where its clause says it: since 2019."""
    begun = since(text, today) if finding.attribute in _LASTS else None
    return replace(finding, since=begun) if begun else finding


def _one_style(styles: list[Finding]) -> Iterator[Finding]:
    """Yield the ways of replying that a sentence asks for as one: the slot holds one value, the newest."""
    if styles:
        first = styles[0]
        mark = "，" if first.content.startswith("用户") else ", "
        said = [style.value or "" for style in styles]
        yield replace(first, value=mark.join(said), content=mark.join([first.content, *said[1:]]))
