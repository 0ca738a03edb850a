"""English statements about others: family, friends, colleagues, pets, and their dates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from streams.extraction.rules.dates import birth_date
from streams.extraction.rules.english.about_self import NAME
from streams.extraction.rules.finding import Finding, profile
from streams.extraction.rules.places import english_city

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from streams.extraction.rules.english.clauses import Clause

FAMILY: Final = (
    r"(?:(?:older|younger|little|big|twin|baby|step|half|eldest|oldest|youngest|elder)[- ]?)?(?:sister|"
    r"brother|son|daughter|husband|wife|partner|girlfriend|boyfriend|"
    r"fianc[eé]e?|mother|father|mom|mum|dad|cousin|aunt|uncle|niece|nephew|grandma|grandpa|grandmother|"
    r"grandfather|kid|child|baby|"
    r"mother-in-law|father-in-law|sister-in-law|brother-in-law|stepmother|stepfather|stepson|"
    r"stepdaughter|grandson|granddaughter|spouse)"
)
FRIENDS: Final = r"(?:(?:best|good|old|close|childhood|dear) )?(?:friend|buddy|pal|roommate|flatmate|bestie)"
KNOWN: Final = (
    r"(?:boss|manager|colleague|coworker|co-worker|supervisor|teacher|professor|advisor|landlord|landlady|"
    r"neighbou?r|client|therapist|doctor|coach|team lead|mentor|business partner|teammate)"
)
PETS: Final = (
    r"(?:cat|dog|puppy|kitten|rabbit|hamster|parrot|bird|fish|turtle|horse|pony|guinea pig|pet|corgi|"
    r"labrador|lab|poodle|beagle)"
)
_OWNED: Final = rf"(?:{FAMILY}|{FRIENDS}|{KNOWN}|{PETS})"
_IS_NAMED: Final = (
    r"(?:(?:'s name is|'s name's| is (?:called|named)| are (?:called|named)| named| called|'s called|'s named))"
)
_MY_NAMED = re.compile(rf"^(?:my|our) (?:new )?(?P<who>{_OWNED}){_IS_NAMED} (?P<name>{NAME})\b", re.IGNORECASE)
_MY = re.compile(rf"^(?:[Mm]y|[Oo]ur) (?:new )?(?P<who>{_OWNED}) (?P<name>[A-Z][a-z]+(?: [A-Z][a-z]+)?)(?=$|\s(?!'s))")
_WITH_MY = re.compile(
    rf"\b(?:with|and|to|for|visit|visiting|see|seeing|meet|meeting|from) my (?P<who>{_OWNED}) "
    r"(?P<name>[A-Z][a-z]+)(?=$|\s)(?!')"
)
_HAVE = re.compile(
    rf"^(?:have|have got|got|adopted|just adopted) (?:an?|\w+) (?:[\w-]+ ){{0,2}}?(?P<who>{_OWNED}) "
    rf"(?:named|called|whose name is) (?P<name>{NAME})\b"
)
_DAY_OF = re.compile(
    rf"^(?:(?P<mine>my|our) )(?:(?P<who>{_OWNED})'s (?P<own>birthday|bday|anniversary)|"
    r"(?P<what>(?:wedding |work )?anniversary)|(?P<named>[A-Z]\w+)'s birthday) is\b",
    re.IGNORECASE,
)


def people(clause: Clause) -> Iterator[Finding]:
    """Yield the people and animals that the user names as theirs. A family member's value is relation and name."""
    text = clause.text
    if (m := _MY_NAMED.match(text) or _MY.match(text) or _WITH_MY.search(text)) or (
        clause.subject in ("me", "we") and not clause.past and (m := _HAVE.match(clause.core))
    ):
        yield from _named(m["who"].lower(), m["name"])
    if (m := _DAY_OF.match(text)) and (day := birth_date(text)):
        if m["who"]:
            label, what = m["who"].lower(), m["own"].lower().replace("bday", "birthday")
            yield profile("important_dates", f"{label}: {day}", f"User's {label}'s {what} is {day}")
        elif m["what"]:
            label = m["what"].lower()
            yield profile("important_dates", f"{label}: {day}", f"User's {label} is {day}")


def _named(who: str, said: str) -> Iterator[Finding]:
    # The pattern for capitals is lost under IGNORECASE, so what is not spelt as a name is cut off here.
    words = []
    for word in said.split():
        if not word[0].isupper():
            break
        words.append(word.removesuffix("'s"))
    name = " ".join(words)
    if not name or not english_city(name):
        return
    content = f"User's {who} is called {name}"
    kinds: tuple[tuple[str, Callable[[], Finding]], ...] = (
        (PETS, lambda: profile("pet_names", name, content)),
        (FRIENDS, lambda: profile("friends", name, content)),
        (FAMILY, lambda: profile("family", f"{who} {name}", content)),
    )
    for pattern, found in kinds:
        if re.fullmatch(pattern, who):
            yield found()
            return
    yield Finding(content=content, category="people")
