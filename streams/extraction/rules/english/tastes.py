"""English statements about tastes: likes, dislikes and interests.

The value is the thing itself: `like drinking green tea` and `like green tea` both give `green tea`; the verb stays
where it says more (`playing chess`). Where and when it is liked is cut off.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streams.extraction.rules.english.nature import is_of_replies
from streams.extraction.rules.english.things import things
from streams.extraction.rules.finding import Finding, profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.english.clauses import Clause

_LIKES = re.compile(
    r"^(?:(?:have (?:always )?)?(?:like|love|loved|liked|enjoy|adore|prefer|fancy)(?! an?\b)|am (?:a "
    r")?(?:huge |big |such a )?fan of|am (?:so |really |totally )?"
    r"(?:fond of|crazy about|obsessed with|addicted to)|am a (?:total |real |complete )?sucker for|can "
    r"not get enough of|can not live without) (?P<what>.+)$"
)
_DISLIKES = re.compile(
    r"^(?:do not (?:really |particularly |even |actually )?(?:like|enjoy|care for|eat|drink)|never "
    r"(?:liked|eat|drink)|hate|dislike|detest|loathe|despise|can not (?:stand|bear|handle)|"
    r"am not (?:really )?(?:a (?:big |huge )?fan of|fond of|into|keen on)|am (?:sick of|terrified of|"
    r"afraid of|scared of)) (?P<what>.+)$"
)
_NO_LONGER = re.compile(
    r"^i (?:really )?no longer (?:really )?(?:like|love|enjoy|care for) (?P<what>.+)$", re.IGNORECASE
)
_IS_FAVOURITE = re.compile(
    r"^(?P<what>(?!this|that|it\b|he\b|she\b|which|one)[\w' ]{2,30}?) (?:is|are) my (?:all[- ]time |"
    r"absolute |new )?favou?rite\b",
    re.IGNORECASE,
)
_NOT_A_FAN = re.compile(r"^not (?:really )?(?:a (?:big |huge )?fan of|into) (?P<what>.+)$")
_BIG_FAN = re.compile(r"^(?:huge|big) fan of (?P<what>.+)$")
_INTERESTS = re.compile(
    r"^(?:am (?:(?:really|very|super|deeply|quite|so|also|totally|getting|particularly|mostly) "
    r")*(?:interested in|into|passionate about|fascinated by|curious about)|"
    r"have (?:gotten|got) into|got into|collect) (?!an?\b|the\b|trouble|fights?\b|it\b)(?P<what>.+)$"
)
_HOBBIES = re.compile(
    r"^my (?:main |favou?rite )?(?:hobby|hobbies|interests?|passion|pastime)(?: is| are|'s| include) (?P<what>.+)$",
    re.IGNORECASE,
)
_FAVOURITE = re.compile(
    r"^my (?:all[- ]time )?favou?rite (?P<kind>\w+(?: \w+)?) (?:is|are|has to be|would be|has always "
    r"been) (?P<what>.+)$",
    re.IGNORECASE,
)
_DIET = re.compile(r"^am (?:an? )?(?:strict |lifelong )?(?P<diet>vegetarian|vegan|pescatarian)\b")


def tastes(clause: Clause) -> Iterator[Finding]:
    """Yield likes, dislikes and interests. What was liked once is left out, and so is what is said of somebody else."""
    core = clause.core
    if clause.subject == "other":
        yield from _without_subject(clause)
        return
    if m := _NO_LONGER.match(clause.text):
        yield from (_dislike(thing) for thing in things(m["what"], clause.rest))
        return
    if clause.past or clause.subject == "we" or clause.when:
        return
    never = clause.adverbs.split()[-1:] == ["never"]
    if m := _DISLIKES.match(f"never {core}" if never else core):
        yield from (_dislike(thing) for thing in things(m["what"], clause.rest))
    elif is_of_replies(core):  # a style of replies, and no thing that is liked
        return
    elif not never and (m := _LIKES.match(core)):
        # "loved the movie" tells of one evening; "have always loved" of a taste.
        if core.startswith(("loved", "liked")):
            return
        yield from (_like(thing) for thing in things(m["what"], clause.rest))
    elif m := _DIET.match(core):
        yield Finding(content=f"User is {m['diet']}", category="preference")
    elif not never and (m := _INTERESTS.match(core)):
        yield from (_interest(thing) for thing in things(m["what"], clause.rest))


def _without_subject(clause: Clause) -> Iterator[Finding]:
    text = clause.text
    if m := _HOBBIES.match(text):
        yield from (_interest(thing) for thing in things(m["what"], clause.rest))
    elif m := _FAVOURITE.match(text):
        for thing in things(m["what"]) if m["kind"].split()[0] not in ("part", "one", "thing") else ():
            yield profile("likes", thing, f"User's favorite {m['kind']} is {thing}")
    elif m := _IS_FAVOURITE.match(text):
        yield from (
            _like(thing[0].lower() + thing[1:] if thing.istitle() and " " not in thing else thing)
            for thing in things(m["what"])
        )
    elif m := _NOT_A_FAN.match(text):
        yield from (_dislike(thing) for thing in things(m["what"]))
    elif m := _BIG_FAN.match(text):
        yield from (_like(thing) for thing in things(m["what"]))


def _like(thing: str) -> Finding:
    return profile("likes", thing, f"User likes {thing}")


def _dislike(thing: str) -> Finding:
    return profile("dislikes", thing, f"User doesn't like {thing}")


def _interest(thing: str) -> Finding:
    return profile("interests", thing, f"User is interested in {thing}")
