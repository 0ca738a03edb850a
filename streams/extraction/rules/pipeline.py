"""The pipeline that reads a sentence: the same steps for each language, with a table of rules of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from projections.dates.cues import since
from streams.extraction.rules.account import Account, names_within
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
    """What a clause says of the user, in the order in which findings are proposed."""
    life: Callable[[Clause, date], Iterator[Finding]]
    """Plans, habits, money, projects and whereabouts."""
    events: Callable[[Clause, date], Iterator[Finding]]
    """What happened."""
    biography: Callable[[Clause], Iterator[Finding]]
    """What a clause tells of the user's life, where nothing else was found in it."""
    only_names: Callable[[str], bool]
    """Whether a clause says how somebody is called, and no more."""
    of_them: Callable[[Clause, Finding], Finding | None]
    """What a clause says by a pronoun of somebody whom a finding before it names."""
    context: Callable[[Clause], str | None]
    """What a clause adds to one that told something of the user, in its words."""
    plainly: Callable[[Clause], Iterator[Finding]]
    """What a clause says of the user where no rule found anything in its sentence so far."""
    topics: Callable[[Clause], Iterator[Finding]]
    """What else a clause tells of the user, known by what it speaks of, where the sentence tells no event."""
    liked: Callable[[Sentence], Iterator[Finding]]
    """What a sentence says is liked of what the clauses before it tell."""
    names_place: Callable[[str], bool]
    """Whether a clause says where something is or was: what 那里 and "there" may point to."""
    asks_of_another: Callable[[Sentence], bool | None]
    """Whether a question to the user is about somebody else; None where it is not known whom it is about."""
    tells_of_another: Callable[[Sentence], bool]
    """Whether what comes behind a sentence without a subject is said of somebody whom the sentence names."""
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
        account = Account()
        for clause in self.claims(sentence):
            if clause.theirs:
                self._goes_on(clause, account)
                continue
            said = [_since(finding, clause.text, today) for rule in self.statements for finding in rule(clause)]
            said += self.life(clause, today)
            happened = [_with_cause(event, account.told) for event in self.events(clause, today)]
            events += happened
            unread = not happened and not confided
            more = list(self._more(clause, said, shared=bool(shared))) if unread else []
            if unread and not said and not more and self._goes_on(clause, account):
                continue
            if unread and not said and not more and not account.found and not events and not shared:
                more = list(self.plainly(clause))
            account.add(said, more, goes_on=clause.continues)
        yield from account.found
        yield from self.liked(sentence)
        if all(event.event_type == SHARED for event in events):  # a feeling about an event is a part of it
            events += shared
        yield from without_parts(events)

    def _more(self, clause: Clause, said: list[Finding], *, shared: bool) -> Iterator[Finding]:
        """Yield what a clause tells beyond its statements, in its words: where these are none, or names alone."""
        if said and (self.only_names(clause.text) or not names_within(said, clause.text)):
            return
        found = list(self.biography(clause))
        yield from found if found or shared else self.topics(clause)

    def _goes_on(self, clause: Clause, account: Account) -> bool:
        """Join a clause that tells nothing by itself to what it goes on from; return whether it does."""
        if account.named and (also := self.of_them(clause, account.named)):
            account.add_of_named(also)
            return True
        if account.told and (words := self.context(clause)):
            account.join(words)
            return True
        return False


_LASTS: Final = ("city", "employer", "occupation", "relationship_status")


def _since(finding: Finding, text: str, today: date) -> Finding:
    """Return a finding of what lasts with the day from which it is so, where its clause says it: since 2019."""
    begun = since(text, today) if finding.attribute in _LASTS else None
    return replace(finding, since=begun) if begun else finding


def _with_cause(event: Finding, told: Finding | None) -> Finding:
    """Return a feeling with what was told before it: 我奶奶去世了，我特别难过."""
    if event.event_type != "personal_share" or told is None or told.content in event.content:
        return event
    mark = "，" if re.search(r"[一-鿿]", told.content) else ", "
    return replace(event, content=f"{told.content}{mark}{event.content}")


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
