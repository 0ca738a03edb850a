"""English statements about others: family, friends, colleagues, pets, and their dates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.dates.yearly import birth_date
from streams.extraction.rules.english.about_self import NAME
from streams.extraction.rules.finding import Finding, profile
from streams.extraction.rules.places import english_city

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from streams.extraction.rules.english.clauses import Clause

FAMILY: Final = (
    r"(?:(?:older|younger|little|big|twin|baby|step|half|eldest|oldest|youngest|elder)[- ]?)?(?:sister|"
    r"brother|son|daughter|husband|wife|partner|girlfriend|boyfriend|"
    r"fianc[eé]e?|mother|father|mom|mum|dad|nan|nana|gran|granny|grandad|granddad|stepdad|stepmum|stepmom"
    r"|hubby|cousin|aunt|uncle|niece|nephew|grandma|grandpa|grandmother|"
    r"grandfather|kid|child|baby|"
    r"mother-in-law|father-in-law|sister-in-law|brother-in-law|stepmother|stepfather|stepson|"
    r"stepdaughter|grandson|granddaughter|spouse)"
)
FRIENDS: Final = r"(?:(?:best|good|old|close|childhood|dear) )?(?:friend|mate|buddy|pal|roommate|flatmate|bestie)"
KNOWN: Final = (
    r"(?:boss|manager|colleague|coworker|co-worker|supervisor|teacher|professor|advisor|landlord|landlady|"
    r"neighbou?r|client|therapist|doctor|coach|team lead|mentor|business partner|teammate)"
)
PETS: Final = (
    r"(?:cat|dog|puppy|kitten|rabbit|hamster|parrot|bird|fish|turtle|horse|pony|guinea pig|pet|corgi|"
    r"labrador|lab|poodle|beagle|greyhound|whippet|spaniel|retriever|husky|terrier|collie|dachshund"
    r"|bulldog|pug|chihuahua|shepherd|tabby|tortoise"
    r"|gecko|snake|lizard|ferret|goldfish|budgie|pup|bunny|mare)"
)
_OWNED: Final = rf"(?:{FAMILY}|{FRIENDS}|{KNOWN}|{PETS})"
_NAME: Final = rf"(?:(?:Mr|Mrs|Ms|Dr)\. )?{NAME}"
_IS_NAMED: Final = (
    r"(?:(?:'s name is|'s name's| is (?:called|named)| are (?:called|named)| named| called|'s called|'s named))"
)
_MY_NAMED = re.compile(rf"^(?:my|our) (?:new )?(?P<who>{_OWNED}){_IS_NAMED} (?P<name>{_NAME})\b", re.IGNORECASE)
_MY = re.compile(rf"^(?:[Mm]y|[Oo]ur) (?:new )?(?P<who>{_OWNED}) (?P<name>[A-Z][a-z]+(?: [A-Z][a-z]+)?)(?=$|\s(?!'s))")
_WITH_MY = re.compile(
    rf"\b(?:with|and|to|for|visit|visiting|see|seeing|meet|meeting|from) my (?P<who>{_OWNED}) "
    r"(?P<name>[A-Z][a-z]+)(?=$|\s)(?!')"
)
_MY_PET = re.compile(rf"\b(?:my|our) (?P<who>{PETS}) (?P<name>[A-Z][a-z]+)(?=$|\s)(?!')")
_OWN = re.compile(
    rf"^(?:(?:my|our)|(?:i |have |got |just |recently ){{0,3}}(?:adopted|got|have|bought) an?) (?P<who>{_OWNED})$",
    re.IGNORECASE,
)
_PLURAL = re.compile(
    rf"^(?:(?:my|our)|i (?:have |got |adopted ){{1,2}}(?:two|2|my)) (?:two )?(?P<who>{PETS})s$", re.IGNORECASE
)
_BOTH = re.compile(r"^([A-Z][a-z]+) and ([A-Z][a-z]+)$")
_CALLED = re.compile(
    r"^(?:(?:his|her|its|their) name is|(?:he|she|it)(?: is|'s) called|called|named) (?P<name>[A-Z][a-z]+)$"
)
_BESIDE = re.compile(r"^(?P<name>[A-Z][a-z]+)$")
_HAVE = re.compile(
    rf"^(?:have|have got|got|adopted|just adopted) (?:an?|\w+) (?:[\w-]+ ){{0,2}}?(?P<who>{_OWNED}) "
    rf"(?:named|called|whose name is) (?P<name>{_NAME})\b"
)
_DAY_OF = re.compile(
    rf"^(?:(?P<mine>my|our) )(?:(?P<who>{_OWNED})'s (?P<own>birthday|bday|anniversary)|"
    r"(?P<what>(?:wedding |work )?anniversary)|(?P<named>[A-Z]\w+)'s birthday) is\b",
    re.IGNORECASE,
)


_DIED: Final = (
    r"(?:has |have )?(?:just |sadly |suddenly |recently )?(?:died|passed away|is dead"
    r"|(?:was|had to be) put (?:down|to sleep)|crossed the rainbow bridge)"
)
_PET_DIED = re.compile(rf"^(?:my|our) {PETS} [A-Z][a-z]+ {_DIED}\b", re.IGNORECASE)


def people(clause: Clause) -> Iterator[Finding]:
    """Yield the people and animals that the user names as theirs. A family member's value is relation and name."""
    text = clause.text
    if _PET_DIED.match(text):
        return
    if (m := _MY_NAMED.match(text) or _MY.match(text) or _WITH_MY.search(text) or _MY_PET.search(text)) or (
        clause.subject in ("me", "we") and not clause.past and (m := _HAVE.match(clause.core))
    ):
        yield from _named(m["who"].lower(), m["name"])
    elif clause.rest and (m := _PLURAL.match(text)) and (both := _BOTH.match(clause.rest[0])):
        for name in both.groups():
            yield from _named(m["who"].lower(), name)
    elif clause.rest and (m := _OWN.match(text)):
        beside = _BESIDE.match(clause.rest[0]) if m.group()[:2].lower() in ("my", "ou") else None
        if named := beside or _CALLED.match(clause.rest[0]):
            yield from _named(m["who"].lower(), named["name"])
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
