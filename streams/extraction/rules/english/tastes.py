"""English statements about tastes: likes, dislikes and interests.

The value is the thing itself: `like drinking green tea` and `like green tea` both give `green tea`; the verb stays
where it says more (`playing chess`). Where and when it is liked is cut off.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from streams.extraction.rules.english.nature import is_of_replies
from streams.extraction.rules.english.things import things
from streams.extraction.rules.finding import Finding, profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.english.clauses import Clause

_LIKES = re.compile(
    r"^(?:(?:have (?:always )?)?(?:like|love|loved|liked|enjoy|adore|prefer|fancy)(?! an?\b(?! (?:good"
    r"|nice|proper|decent|bit of)\b))(?: an? (?:good|nice|proper|decent|bit of)(?= ))?|am (?:a "
    r")?(?:huge |big |such a )?fan of|am (?:so |really |totally )?"
    r"(?:fond of|crazy about|obsessed with|addicted to)|am a (?:total |real |complete )?sucker for|can "
    r"not get enough of|can not live without) (?P<what>.+)$"
)
_DISLIKES = re.compile(
    r"^(?:do not (?:really |particularly |even |actually )?(?:like|enjoy|care for|eat|drink)|never "
    r"(?:liked|eat|drink)|hate|dislike|detest|loathe|despise|can not (?:stand|bear|handle|stomach|do(?= spicy"
    r"| heights| horror| crowds| mornings| heat| seafood| cold)|deal with|cope with|abide)|"
    r"am not (?:really )?(?:a (?:big |huge )?fan of|fond of|into|keen on|big on|crazy about|wild about)"
    r"|am (?:sick of|terrified of|"
    r"afraid of|scared of)) (?P<what>(?!or\b|and\b).+)$"
)
_PREFERS = re.compile(
    r"^prefer (?P<what>(?!to\b)[\w' -]{2,30}?) to (?P<than>(?!you\b|it\b|this\b|that\b)[\w' -]{2,30})$"
)
_IT_WHEN = re.compile(
    r"^(?:(?P<not>hate|can not (?:stand|bear)|do not like|dislike|detest)|love|like"
    r"|enjoy) it when (?P<what>(?!you\b|this|that|it)[\w' -]{4,50})$"
)
_NO_MORE_TAKEN = re.compile(r"^do not (?:really )?(?:eat|drink) .* any ?more$")
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
_KEEPS: Final = re.compile(
    r"^(?P<what>(?!nothing|everything|something|anything|being|knowing)[A-Za-z]+ing(?: [a-z]+)?"
    r"|[A-Z][a-z]+) (?:keeps me (?:sane|going|grounded|happy)"
    r"|is my (?:therapy|happy place|jam|passion|escape|guilty pleasure|comfort food|favou?rite thing)"
    r"|helps me (?:relax|unwind|switch off))\b"
)
_BEATS: Final = re.compile(
    r"^(?:nothing beats|(?:there is |there's )?nothing like|you can not beat) (?:an? )?(?P<what>(?!that"
    r"|this|it\b).{3,40})$"
    r"|^(?P<loved>(?!that|this|it\b)[\w ]{3,25}?)(?:'s| is| are) my (?:one |only |biggest |secret "
    r"|new )?(?:addiction|weakness|vice|obsession|kryptonite)$",
    re.IGNORECASE,
)
_RATHER: Final = re.compile(
    r"^(?:i would|i'd|i will|i'll|i)(?: always| still)? (?:take|pick|choose|rather have"
    r"|have) (?P<what>[\w' -]{2,30}?) over (?P<than>(?!this|that|it\b)[\w' -]{2,30}?)"
    r"(?: (?:any ?day|any ?time|every time|always)(?: of the week)?)?$",
    re.IGNORECASE,
)
_NAMED_FAVOURITE: Final = re.compile(
    r"^(?:my )?(?:all[- ]time )?fav(?:ou?rite)? (?P<kind>[a-z]+(?: [a-z]+)?)$", re.IGNORECASE
)
_A_FAN: Final = re.compile(
    r"^am an? (?:(?:huge|big|massive|lifelong|die-?hard|proud|total) )*(?P<what>[A-Z][\w' ]{1,25}?) (?:fan"
    r"|supporter|nerd)\b"
)


def tastes(clause: Clause) -> Iterator[Finding]:
    """Yield likes, dislikes and interests. What was liked once is left out, and so is what is said of somebody else."""
    core = clause.core
    if clause.subject == "other":
        yield from _without_subject(clause)
        return
    if m := _NO_LONGER.match(clause.text):
        yield from (_dislike(thing) for thing in things(m["what"], clause.rest))
        return
    # What is no longer drunk need not be disliked.
    if clause.past or clause.subject == "we" or clause.when or _NO_MORE_TAKEN.match(core):
        return
    if m := _IT_WHEN.match(core):
        yield (_dislike if m["not"] else _like)(f"it when {m['what']}")
        return
    yield from _of_things(clause)


def _of_things(clause: Clause) -> Iterator[Finding]:
    core = clause.core
    never = clause.adverbs.split()[-1:] == ["never"]
    if m := _DISLIKES.match(f"never {core}" if never else core):
        yield from (_dislike(thing) for thing in things(m["what"], clause.rest))
    elif not never and (m := _PREFERS.match(core)) and not is_of_replies(core):
        for thing in things(m["what"]):
            yield profile("likes", thing, f"User prefers {m['what']} to {m['than']}")
    elif is_of_replies(core):  # a style of replies, and no thing that is liked
        return
    elif not never and (m := _LIKES.match(core) or _A_FAN.match(core)):
        # "loved the movie" tells of one evening; "have always loved" of a taste.
        if core.startswith(("loved", "liked")):
            return
        said = m["what"]
        for thing in things(said, clause.rest):
            to_do = said.startswith(f"to {thing}")  # likes to walk
            yield profile("likes", thing, f"User likes to {thing}") if to_do else _like(thing)
    elif not never and (m := _INTERESTS.match(core)):
        yield from (_interest(thing) for thing in things(m["what"], clause.rest))


def rather(said: str) -> Iterator[Finding]:
    """Yield what is liked more than something else: the "would" makes `claims` leave it out."""
    if m := _RATHER.match(said):
        yield from (_like(thing) for thing in things(m["what"]))


def _without_subject(clause: Clause) -> Iterator[Finding]:
    text = clause.text
    yield from _praised(clause)
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


def _praised(clause: Clause) -> Iterator[Finding]:
    """Yield what is praised without "I": gardening keeps me sane, nothing beats tea, favourite food: ramen."""
    text = clause.text
    if (m := _KEEPS.match(text)) and m["what"] not in ("It", "That", "This", "He", "She"):
        yield from (_interest(thing[0].lower() + thing[1:]) for thing in things(m["what"]))
    elif m := _BEATS.match(text):
        yield from (_like(thing) for thing in things(m["what"] or m["loved"]))
    elif (m := _NAMED_FAVOURITE.match(text)) and clause.rest:
        for thing in things(clause.rest[0]):
            yield profile("likes", thing, f"User's favorite {m['kind']} is {thing}")


def _like(thing: str) -> Finding:
    return profile("likes", thing, f"User likes {thing}")


def _dislike(thing: str) -> Finding:
    return profile("dislikes", thing, f"User doesn't like {thing}")


def _interest(thing: str) -> Finding:
    return profile("interests", thing, f"User is interested in {thing}")
