"""English questions for slots of the profile, read by rules from case folded text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.profile.slot_asked import DAYS_OF_OTHERS, slot_of

if TYPE_CHECKING:
    from projections.profile.slot_asked import SlotAsked

_AUX: Final = r"(?:(?:do|does|did|is|are|am|was|were|has|have|had|can) )?"
_WHO: Final = r"(?P<who>(?:[\w'-]+ ){0,3}?[\w'-]+)"
_DOES: Final = r"(?:do|does|did)"
_IS: Final = r"(?:is|are|am|was|were)"
_LIVES: Final = r"(?:live|lives|lived|living|based|reside|resides|residing)\b"
_WORKS: Final = r"(?:work|works|worked|working|employed)\b(?! out| from home)"
_CALLED: Final = r"(?:called|named)"
_BIRTHDAY: Final = r"(?:birthday|bday|b-day|birth date|birthdate|date of birth)\b"
_FIRM: Final = r"(?:company|firm|employer|organi[sz]ation|startup|place|business|agency)"
_DAY: Final = r"(?:anniversary|wedding anniversary|wedding)\b"
_PET: Final = r"(?P<thing>pet|cat|dog|puppy|kitten|rabbit|hamster|parrot|bird)s?\b"
_KIN: Final = (
    r"(?P<thing>brother|sister|sibling|child|children|kid|son|daughter|husband|wife|partner|boyfriend|girlfriend)s?\b"
)

_RULES: Final = tuple(
    (re.compile(pattern), attributes)
    for attributes, patterns in (
        (
            ("employer",),
            (
                rf"\bwhere {_AUX}{_WHO} {_WORKS}",
                rf"\b(?:which|what) {_FIRM} {_AUX}{_WHO} {_WORKS}",
                rf"\b{_FIRM} (?:that |which |where )?{_WHO} {_WORKS}",
                rf"\bwho {_AUX}{_WHO} (?:work|works|worked|working) for\b",
                rf"\b(?:what|which|who) is {_WHO} (?:employer|company|workplace|place of work)\b",
                rf"\b{_DOES} {_WHO} (?:still )?work (?:at|for)\b",
            ),
        ),
        (
            ("city",),
            (
                rf"\bwhere {_AUX}{_WHO} {_LIVES}",
                rf"\b(?:which|what) (?:city|town|place|country) {_AUX}{_WHO} {_LIVES}",
                rf"\b(?:city|town|place) (?:that |which |where )?{_WHO} {_LIVES}",
                rf"\bwhere is {_WHO} home$",
                rf"\b(?:what|which) is {_WHO} (?:city|home city|place of residence)$",
                rf"\b(?:do|does|did|is|are) {_WHO} (?:still )?(?:live|living|based) in\b",
            ),
        ),
        (
            ("occupation",),
            (
                rf"\bwhat (?:do|does) {_WHO} do(?: for (?:a living|work)| professionally)?$",
                rf"\bwhat {_WHO} does(?: for (?:a living|work)| professionally)?$",
                rf"\bwhat (?:(?:kind|type|sort|line) of )?(?:work|job) {_AUX}{_WHO} (?:do|does|have|has)\b",
                rf"\bwhat {_AUX}{_WHO} (?:work|works|working) as\b",
                rf"\bwhat is {_WHO} (?:job|job title|occupation|profession|line of work|role at work)$",
            ),
        ),
        (("age",), (rf"\bhow old (?:{_IS} )?{_WHO}$", rf"\bwhat is {_WHO} age$", rf"\bwhat age {_IS} {_WHO}$")),
        (
            ("birthday",),
            (
                rf"\b(?:when|what|which)(?: day| date| month)? {_AUX}{_WHO} {_BIRTHDAY}",
                rf"\b(?:when|what date|which date|what day|which day) {_IS} {_WHO} born\b",
                rf"^{_WHO} {_BIRTHDAY}$",
            ),
        ),
        (("user_name",), (rf"\bwhat (?:should|do|can|shall|may) (?:i|we|you|people|they) call {_WHO}$",)),
        (
            ("user_name",),
            (
                rf"\bwhat is the name of {_WHO}$",
                rf"\bwhat (?:is|was) {_WHO} (?:name|nickname|surname)$",
                rf"\bwhat (?:is|are|am) {_WHO} {_CALLED}$",
                rf"\bwhat {_WHO} (?:is|are) {_CALLED}$",
                rf"\bwho (?:is|are|am) {_WHO}$",
            ),
        ),
        (
            ("relationship_status",),
            (
                rf"\b{_IS} {_WHO} (?:married|single|engaged|divorced|widowed|dating|in a relationship|with anyone)\b",
                rf"\bwhat is {_WHO} (?:marital|relationship|civil) status\b",
            ),
        ),
        (
            ("language", "skills"),
            (
                rf"\b(?:what|which) languages? {_AUX}{_WHO} speaks?\b",
                rf"\bwhat is {_WHO} (?:native language|mother tongue|first language)\b",
            ),
        ),
        (
            ("allergies",),
            (
                rf"\b(?:is|are|am) {_WHO} allergic\b",
                rf"\b(?:do|does) {_WHO} have (?:any |an |a )?(?:\w+ )?(?:allergies|allergy|intolerances?)\b",
                r"\b(?P<who>(?:(?:my|your|his|her|their|our|the) )?[\w'-]+) (?:(?:is|are|am|be) )?allergic\b",
                rf"\b(?:what|which|any) (?:is |are )?{_WHO} (?:food )?(?:allergies|intolerances)\b",
                rf"^{_WHO} (?:food )?allerg(?:y|ies)$",
            ),
        ),
        (
            ("pet_names",),
            (
                rf"\b(?:do|does) {_WHO} (?:have|own|keep) (?:a |an |any )?{_PET}",
                rf"\b(?:what|which) (?P<thing>pet)s? (?:do|does) {_WHO} (?:have|own|keep)\b",
            ),
        ),
        (("family", "relationship_status"), (rf"\b(?:do|does) {_WHO} have (?:a |an |any )?{_KIN}",)),
        (DAYS_OF_OTHERS, (rf"\bwhen (?:is|was) {_WHO} (?P<thing>{_DAY})",)),
        (
            ("dislikes",),
            (
                rf"\bwhat (?:\w+ ){{0,2}}?(?:do|does) {_WHO} (?:not (?:like|enjoy)|dislike|hate)(?: to \w+| most)?$",
                rf"\bwhat (?:\w+ ){{0,2}}?(?:do|does) not {_WHO} (?:like|enjoy)(?: to \w+)?$",
            ),
        ),
        (
            ("likes",),
            (
                rf"\b(?:what|who) (?:is|are) {_WHO} favou?rite (?P<thing>\w+)",
                rf"\b(?:what|which) (?P<thing>\w+) (?:is|are) {_WHO} favou?rite\b",
                rf"\bwhat (?:\w+ ){{0,2}}?(?:do|does) {_WHO} (?:like|love|enjoy)(?: to \w+| most| best)?$",
            ),
        ),
        (
            ("interests",),
            (
                rf"\bwhat (?:is|are) {_WHO} (?:hobby|hobbies|interests)\b",
                rf"\bwhat (?:is|are|am) {_WHO} interested in\b",
            ),
        ),
        (
            ("skills",),
            (
                rf"\b(?:what|which) (?:musical )?instruments? {_AUX}{_WHO} plays?\b",
                rf"\bwhat (?:is|are) {_WHO} skills$",
            ),
        ),
        (("personality_traits",), (rf"\bwhat (?:is|are) {_WHO} personality\b",)),
    )
    for pattern in patterns
)
_SIGNS: Final = re.compile(
    r"\b(?:do|does|old|age|who)\b|work|employ|company|job|occupation|profession|liv|based|resid|home|city|b-?day|birth|born"
    r"|call|name|married|single|engaged|divorced|widowed|dating|relationship|anyone|status|language|tongue|allerg"
    r"|intoleranc|anniversary|wedding|favou?rite|hobb|interest|instrument|skill|personality"
)
"""Every rule needs one of these words; a text without any does not ask for a slot."""
_PAST: Final = re.compile(r"\b(?:before|previously|formerly|former|previous|earlier|used? to|last (?:job|employer))\b")
_SHORT: Final = re.compile(r"\b(?P<word>what|where|when|who|how)'(?:s|re)\b")
_NOT: Final = re.compile(r"\b(?P<word>do|does|did|is|are)n'?t\b")
_USED: Final = re.compile(r"\bused? to ")
_ENDING: Final = " \t\n?!.,;:。？！"
_SPACES: Final = re.compile(r"\s+")
_TIMES: Final = re.compile(
    r"(?:,? (?:now|today|nowadays|currently|these days|again|before|previously|earlier|by the way|btw|though|then"
    r"|if i may(?: ask)?|if you do not mind(?: me asking)?))$"
)
"""What may stand behind a question."""
_USER: Final = frozenset({"i", "we", "you", "he", "she", "they", "user", "me", "him", "her", "them", "person"})
_ASIDE: Final = """
    my our your his her their the a an this that any now currently still current present exact full real first last
    usually actually previously formerly former previous old new own celebrate please nowadays today these
    days before earlier name of
"""
_NOTHING: Final = frozenset(_ASIDE.split())
"""Words about the slot, not about the person."""


def asked_in_english(text: str) -> SlotAsked | None:
    """Return the slot that a case folded question asks for; None if it asks for none."""
    plain = _SPACES.sub(" ", text.replace("\u2019", "'")).rstrip(_ENDING)
    plain = _NOT.sub(r"\g<word> not", _SHORT.sub(r"\g<word> is", plain))
    bare = _USED.sub("", _TIMES.sub("", plain))
    if not _SIGNS.search(bare):
        return None
    for pattern, attributes in _RULES:
        if m := pattern.search(bare):
            found = m.groupdict()
            past = _PAST.search(plain) is not None
            return slot_of(attributes, _whose(found["who"]), found.get("thing"), past=past)
    return None


def _whose(said: str) -> str:
    """Return the person that the subject of a question names; empty for the user."""
    words = [word.removesuffix("'s").removesuffix("'") for word in said.split()]
    named = [word for word in words if word not in _NOTHING]
    return "" if all(word in _USER for word in named) else " ".join(w for w in named if w not in _USER)
