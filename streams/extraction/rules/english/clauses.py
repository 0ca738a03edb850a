"""English clauses: whom each speaks of, and whether it claims something. Every English rule relies on it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from streams.extraction.rules.english.ellipsis import BEING, whole
from streams.extraction.rules.sentences import MOST_AFTER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.sentences import Sentence

_TRAILER = re.compile(
    r"(?<!\s)\s+(?:by the way|btw|fyi|tho|though|lol|haha+|tbh|you know|honestly|actually|please)$", re.IGNORECASE
)
_APART: Final = (
    (re.compile(r"\b(i|you|he|she|it|we|they|that|there|who|what)'m\b", re.IGNORECASE), r"\1 am"),
    (re.compile(r"\b(you|we|they)'re\b", re.IGNORECASE), r"\1 are"),
    (re.compile(r"\b(i|you|we|they)'ve\b", re.IGNORECASE), r"\1 have"),
    (re.compile(r"\b(i|you|he|she|it|we|they)'ll\b", re.IGNORECASE), r"\1 will"),
    (re.compile(r"\b(i|you|he|she|it|we|they)'d\b", re.IGNORECASE), r"\1 would"),
    (re.compile(r"\bcan't\b|\bcannot\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"\b(do|does|did|is|are|was|were|have|has|had|could|would|should)n't\b", re.IGNORECASE), r"\1 not"),
    (
        re.compile(
            r"\b((?:my|our)(?: [\w-]{1,20}){1,3}|mom|mum|dad|grandma|grandpa|landlord|boss|roommate|wife"
            r"|husband|hubby|coworker [A-Z]\w{1,14}|friend [A-Z]\w{1,14})'s (?=(?:not|now|always|still|also|in"
            r"|on|at|off|an?|the"
            r"|from|so|really|very|pretty|getting|going|having|coming|moving|turning|working|studying|living"
            r"|staying|learning"
            r"|teaching|expecting|graduating|starting|recovering|visiting|dating|planning|dying|applying|taking"
            r"|raising|making|driving|leaving|transferring|falling|always|been|acting|pregnant|sick|bad|good"
            r"|retired|allergic|married|divorced|engaged|failing|terrible|shot|messed|acting|due|back|almost"
            r"|only|about|old|deaf|blind)\b)",
            re.IGNORECASE,
        ),
        r"\1 is ",
    ),
    (
        re.compile(
            r"\b((?:my|our)(?: [\w-]{1,20}){1,2})'s (?=(?:vegan|vegetarian|pregnant|diabetic|autistic|gay|ill"
            r"|coeliac|celiac|unemployed"
            r"|colou?rblind|dead|gone|broken|an? )\b)",
            re.IGNORECASE,
        ),
        r"\1 is ",
    ),
    (re.compile(r"\b(im|ive|dont|cant)\b", re.IGNORECASE), ""),
    (re.compile(r"\bthere's (?=(?:\d|two|three|four|five|six|seven) of us)", re.IGNORECASE), "there are "),
    (re.compile(r"\bgonna\b", re.IGNORECASE), "going to"),
    (re.compile(r"\bwanna\b", re.IGNORECASE), "want to"),
)
_SHORT: Final = {"im": "I am", "ive": "I have", "dont": "do not", "cant": "can not"}
_FILLER = re.compile(
    r"^(?:(?:fwiw|ngl|not gonna lie|not going to lie|truth be told|p\.?\s?s\.?|before you ask|for context"
    r"|as it happens|heads up|full disclosure"
    r"|confession|random fact|little known fact|idk|ok so|ah well|alright|right so|basically|obviously|well|so"
    r"|oh|ah|hey|hi|hello|hiya|actually|honestly|btw|by the way|yeah|yep|yes"
    r"|no(?= (?:actually|wait|sorry|i|we|my|our|it"
    r"|that|he|she|they)\b|[^\w ]|$)|nope|ok|"
    r"okay|also|and|but|anyway|fyi|tbh|to be honest|"
    r"lol|haha|hmm|um|uh|ugh|omg|man|dude|welp|wow|ooh|fun fact|good news|bad news|guess what|turns out"
    r"|these days|nowadays|currently|right now|lately|recently|personally|in fact|"
    r"sure|because|although|plus|then|good morning|"
    r"good evening|thanks|sorry|just so you know|for the record|(?:a )?quick update|update|there)\b[\s,]*)+",
    re.IGNORECASE,
)
_SHOUTED = re.compile(r"\b(?:LOVE|LIKE|HATE|ENJOY|PREFER|REALLY|SO|VERY|NOT|NEVER|ALWAYS|ALLERGIC|AM|DO|LIVE|WORK)\b")
# A clause ends where a new subject or a new verb of the same subject begins, not within "board games and pottery".
_JOIN = re.compile(
    r"(?<!\s)\s+(?:and|but|so|because|since|while|when|though|although|except|who|which|until|unless|"
    r"as)\s+(?!i are\b)(?=(?:then |also |now |just |currently |i|we|my|our|he|she|it|they|you|the|her|his|"
    r"their|everyone|everybody)\b)"
    r"|(?<!\s)\s+(?:and|but|so)\s+(?=(?:(?:also|now|currently|then|just|really|still)\s+)*"
    r"(?:work|live|like|love|hate|enjoy|prefer|have|am|speak|play|own|study|teach|joined|moved|got|"
    r"started|run|go|can't|can not|do not|does not|walked|said|would)\b)",
    re.IGNORECASE,
)
_ADVERBS: Final = (
    r"(?:really|just|also|actually|still|now|currently|always|usually|often|typically|normally|"
    r"generally|absolutely|totally|kinda|kind of|sort of|truly|"
    r"mostly|mainly|definitely|particularly|especially|simply|recently|already|even|so|only|very much|"
    r"much|do(?= love| like| enjoy| prefer)|"
    r"sometimes|never|personally|honestly|finally|officially|both|genuinely|rarely|secretly|legit|pretty much|quite)"
)
_I = re.compile(rf"^(?:{_ADVERBS}\s+)*i\s+(?P<adverbs>(?:{_ADVERBS}\s+)*)", re.IGNORECASE)
_WE = re.compile(rf"^we\s+(?P<adverbs>(?:{_ADVERBS}\s+)*)", re.IGNORECASE)
_SUBJECTLESS: Final = (
    r"(?:am|work|live|like|love|hate|enjoy|prefer|have|speak|play|own|study|teach|joined|moved|got|started|"
    r"can not|do not|run|go)\b"
)
_AGAIN = re.compile(rf"^(?P<adverbs>(?:{_ADVERBS}\s+)*)(?={_SUBJECTLESS})", re.IGNORECASE)
_NEWS = re.compile(
    r"^(?P<adverbs>(?:just|recently|finally)) (?=(?:started|moved|joined|turned|got|adopted|relocated)\b)",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"^(?P<when>(?:(?:tomorrow|today|tonight|yesterday|this|next|last|as an?|being an?|starting|from|on|at|in"
    r"|every|each|after|before|since|during"
    r"|over|by|once|the other|back in|most|some|(?:\d{1,3}|an?|one|two|three|four|five|six|seven|ten|a few|a couple of)"
    r" (?:days?|weeks?|months?|years?) ago)\b[^,]{0,40}?)\s+)(?=(?:i|we)\s)",
    re.IGNORECASE,
)
_FICTION = re.compile(
    r"^in (?:the|that|this|a|my|our) (?:\w{1,15} )?(?:game|movie|film|novel|dream|play|story|show|simulation)$",
    re.IGNORECASE,
)
"""Where what is said of oneself is not true of oneself."""
_ASKS = re.compile(
    r"^(?:what|who|whom|whose|where|why|how|which|when (?:is|are|do|does|did|will|can)|do|does|did|is|"
    r"are|am i|was|were|can|could|would|will|should|shall|have you|"
    r"has|may|might|any|wanna|ever|isn't|aren't|don't you|guess)\b(?! not like| not want| n't)",
    re.IGNORECASE,
)
_SUPPOSES = re.compile(
    r"\b(?:if|suppose|supposing|imagine|maybe|perhaps|wish|hopefully|unless|pretend|let's say|let us "
    r"say|what about|hypothetically|in theory|"
    r"role ?-?play|next life|my character|would|could|might|dream of|as though|kidding|joking|not sure|whether"
    r"|for example|e\.g|apparently|"
    r"rumou?r|supposedly|lyrics?|the song|the movie says|quote)\b",
    re.IGNORECASE,
)
_NEARLY = re.compile(
    r"\b(?:almost|nearly) (?:(?:\w{2,12}ed(?! (?:\d|to \d))|bought|went|got|took|left|lost|broke|quit|won|sold"
    r"|made|gave|fell|had|ran"
    r"|became|chose|did|came|told|met|ate|died)\b(?! (?:every|all|always)\b))"
    r"|\bcame (?:so |very |this )?close to \w+ing|\b(?:was|were) (?:about|going|supposed|meant) to\b",
    re.IGNORECASE,
)
"""What did not happen: I almost bought it."""
_HEARSAY = re.compile(
    r"\b(?:(?:he|she|they|someone|somebody|people|everyone|you|who|friend|mom|dad|boss|brother|sister|"
    r"wife|husband)\s+(?:says?|said|told|tells?|thinks?|thought|claims?|"
    r"claimed|believes?|swears?|asked|called me)|^(?!i\b).*\b(?:says|said|writes|wrote|texted|replied)$|"
    r"^(?:please |now |just )*(?:say|repeat|translate|rephrase|proofread)\b|"
    r"\breckons\b|told me|i heard|i read|i hear that|i think|i thought|i"
    r" guess|i assume|i doubt|i feel like|i suspect|i said)\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:used to|when i was|when we were|back when|back then|as a (?:kid|child|teen(?:ager)?|student)"
    r"|years ago|formerly|previously|once|no longer|growing up|"
    r"in my (?:youth|twenties|childhood)|at the time|in the past|was|were|had been)\b",
    re.IGNORECASE,
)
_SARCASM = re.compile(
    r"^(?:oh,? )?(?:great|joy|lovely|wonderful|fantastic|perfect|brilliant|yay|yeah right"
    r"|sure)(?: another .*)?$|^yeah$|\bliterally (?:trying|dying|dead|about to|going to)\b"
    r"|\bthe (?:queen|king|pope|president|emperor) of [A-Z]|^obviously$|^(?:really\. )?makes my day",
    re.IGNORECASE,
)
"""Marks of what is not meant as it is said: Oh great, I adore filling in forms."""
_REQUESTS = re.compile(
    r"^(?:please(?! call me\b)|help|tell|show|give|remind|let|can|write|find(?! me (?:on|at)\b)|look|make"
    r"|explain|recommend|suggest|"
    r"translate|call (?!me\b)|remember|forget|don't|do not|try|stop|go)\b",
    re.IGNORECASE,
)
_REMEMBER = re.compile(
    r"^(?:please |pls |just |always )?"
    r"(?:remember|(?:make a )?note|keep in mind|bear in mind|(?:do not|never) (?:ever )?forget)"
    r"(?: that)? (?=(?:i|my|we|our)\b(?! (?:told|said)\b))",
    re.IGNORECASE,
)
"""What asks to keep what follows, which is said plainly: remember that I am allergic to nuts."""


_WORD: Final = 8
"""Characters of a word before the clause: `32, living in Cork`."""
_SOMEBODY = re.compile(r"\b(?:you|he|she|they|how(?! to)|who|what|people|everyone)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause that claims something, contractions written out. `core` is what follows subject and adverbs."""

    text: str
    core: str
    adverbs: str
    when: str
    """What precedes the subject: `Tomorrow at 3pm`."""
    subject: Literal["me", "we", "other"]
    past: bool
    rest: tuple[str, ...] = ()
    """The clauses that follow in the sentence, fillers included."""
    greeted: bool = False
    """The sentence greets or introduces."""
    continues: bool = False
    """It leaves out its subject and goes on from a clause before it."""
    before: tuple[str, ...] = ()
    """The clauses before it, of the sentence and of the one before."""
    theirs: bool = False
    """It leaves out its subject behind the name of another being."""


_ME_AND: Final = re.compile(
    r"\b(?:me|myself) and (?P<who>my [\w-]+(?: [A-Z]\w+)?|[A-Z]\w+) (?=(?:just |have |finally )?(?:broke|split"
    r"|are|have|moved|got|live|met|went|had|run|own|share))",
    re.IGNORECASE,
)


def apart(text: str) -> str:
    """Return a text with contractions written out: `I'm` is `I am`."""
    text = _ME_AND.sub(r"\g<who> and I ", text)
    for pattern, full in _APART:
        text = pattern.sub(lambda m, full=full: _SHORT.get(m.group().lower()) or m.expand(full), text)  # type: ignore[misc]
    return text


def _calm(text: str) -> str:
    """Return a text in lower case where it shouts: all of `I LOVE SUSHI`, the word in `I do NOT like it`."""
    return text.lower() if text.isupper() and " " in text else _SHOUTED.sub(lambda m: m.group().lower(), text)


_COMPANY: Final = re.compile(
    r"^(?:(?i:my|our) [\w-]{1,20}(?: [\w-]{1,20})?|(?!Yeah|Yes|No|Ok|Okay|Well|Sure|Right|So|Also|Oh)[A-Z][a-z]{2,14})$"
)


def _with_their_company(parts: list[str]) -> list[str]:
    """Put `My dad` and `I do not speak` back into one clause: the verb is of both."""
    joined: list[str] = []
    for part in parts:
        if joined and _COMPANY.match(joined[-1]) and re.match(r"(?i)i ", part):
            joined[-1] = f"{joined[-1]} and {part}"
        else:
            joined.append(part)
    return joined


_CONNECTS: Final = re.compile(r"(?:so|and|because|but|though|although|since|then|which)\b", re.IGNORECASE)
_POLITE: Final = re.compile(
    r"(?<!\s)\s+if (?:you (?:need|want|ask|must|care|wonder|like|know|have|were|are)|that|it|anyone|anybody)\b.*$",
    re.IGNORECASE,
)
"""What asks nothing and supposes nothing: if you must know."""


def _apart(sentence: Sentence) -> tuple[list[str], set[str], bool]:
    """Return the clauses of a sentence, those that a conjunction joins to the one before, and whether it greets."""
    pieces = [
        (p.strip(), at > 0 or _CONNECTS.match(p.strip()) is not None)
        for said in sentence.clauses
        for at, p in enumerate(_JOIN.split(_POLITE.sub("", apart(_calm(said)))))
        if p and p.strip()
    ]
    parts = [part for part, _ in pieces]
    greeted = bool(parts and _HELLO.match(parts[0])) or any(map(_PLEASED.match, parts))
    parts = [] if any(map(_SARCASM.search, parts)) else _with_their_company(parts)
    return parts, {part for part, connects in pieces if connects}, greeted


_HELLO: Final = re.compile(r"(?:hi|hello|hey|hiya|greetings|good (?:morning|evening))\b", re.IGNORECASE)
_PLEASED: Final = re.compile(r"nice to meet|pleased to meet|by the way$", re.IGNORECASE)


_INTRODUCED: Final = re.compile(
    r"\b(?:have|have got|met|got|adopted|dating|seeing) an? (?:[\w-]+ ){0,3}?"
    rf"(?:{BEING.pattern}|man|woman|guy|girl|boy)"
    r"(?: (?:called|named) \w+)?$",
    re.IGNORECASE,
)
_DID: Final = re.compile(r"(?:joined|moved|got|started)\b", re.IGNORECASE)


def _is_theirs(before: list[str], again: re.Match[str]) -> bool:
    """Return whether a clause without a subject may say what another did: I have a sister, got married last week."""
    did = _DID.match(again.string, again.end())
    return did is not None and bool(before) and _INTRODUCED.search(before[-1]) is not None


_TELLS: Final = re.compile(r"who (?:is|was|has|lives|works|studies|teaches|just|loves|hates|likes)\b", re.IGNORECASE)
_TELLS_MORE: Final = re.compile(r"(?:is|has) (?!it\b|he\b|she\b|that\b|this\b|there\b|they\b|any)", re.IGNORECASE)
_ENDS_IN_NAME: Final = re.compile(r"(?i:my|our) .*\b[A-Z][a-z]+$")


def _tells_of_named(text: str, before: str) -> bool:
    """Return whether a clause with "who" tells of one named before it and asks nothing: My sister Anna, who is here."""
    return (_TELLS.match(text) is not None and _ENDS_IN_NAME.match(before) is not None) or (
        _TELLS.match(before) is not None and _TELLS_MORE.match(text) is not None
    )


def claims(sentence: Sentence) -> Iterator[Clause]:
    """Yield the clauses that claim something, without questions, suppositions, hearsay and requests.

    A clause that begins with a verb has the subject of the clause before it. From a supposition or reported speech on,
    the rest of the sentence is no claim of the user.
    """
    parts, connected, greeted = _apart(sentence)
    subject: Literal["me", "we", "other"] = "other"
    shared = False
    for place, said in enumerate(parts):
        text = _TRAILER.sub("", _REMEMBER.sub("", _FILLER.sub("", said)))
        if _SUPPOSES.search(text) or _HEARSAY.search(text):
            return
        when = ""
        body = text
        continues = False
        if m := _WHEN.match(text):
            when, body = m["when"].strip(), text[m.end() :]
        if m := _I.match(body):
            subject = "me"
        elif m := _WE.match(body):
            subject = "we"
        elif subject != "other" and not shared and (m := _AGAIN.match(body)) and not _is_theirs(parts[:place], m):
            continues = True
        else:
            # "just moved to Leeds" says I without saying it.
            m = None if sentence.of_another else _NEWS.match(body)
            said_before = (*sentence.after, *parts[:place])
            goes_on = not place or (subject == "me" and not shared) or len(parts[place - 1]) <= _WORD
            alone = m is None and not when and goes_on and not sentence.of_another
            if alone and not any(map(_SOMEBODY.search, (*said_before, text))):
                body = text = whole(text, said_before)
                m = _I.match(body)
                continues = m is not None and place > 0
            subject = "me" if m else "other"
        # "I love how you use it and teach": whose verb comes next is not certain.
        shared = _SOMEBODY.search(text) is not None
        asks = _ASKS.search(text) and not when and not (place and _tells_of_named(text, parts[place - 1]))
        if _NEARLY.search(text) or asks or (sentence.asks and place == len(parts) - 1):
            continue
        if (subject == "other" and _REQUESTS.search(text)) or _FICTION.match(when):
            continue
        yield Clause(
            text=text,
            core=body[m.end() :] if m else body,
            adverbs=(m["adverbs"].strip().lower() if m else ""),
            when=when,
            subject=subject,
            past=_PAST.search(text) is not None,
            rest=tuple(parts[place + 1 : place + 1 + MOST_AFTER]),
            greeted=greeted,
            continues=continues or (place > 0 and said in connected),
            before=(*map(apart, sentence.after), *parts[:place]),
        )


_ASKS_OF: Final = re.compile(
    r"\b(?:is|was|does|did|has|do|are|were|have|'s|about) (?:he|she|they|him|her|them|(?-i:[A-Z][a-z]+))\b"
    rf"|\b(?:your|his|her|their) (?:[\w-]+ ){{0,2}}?{BEING.pattern}",
    re.IGNORECASE,
)
_ASKS_YOU: Final = re.compile(
    r"\b(?:do|did|are|were|have|will|would|can|could) you\b(?! (?:know|remember|think|happen|say|tell))", re.IGNORECASE
)
_YOU: Final = re.compile(r"\byou(?:r|rs|rself)?\b", re.IGNORECASE)


def asks_of_another(sentence: Sentence) -> bool | None:
    """Return whether a question is about somebody else (Where is she?); None where it is not known whom it is about."""
    said = " ".join(sentence.clauses)
    if _ASKS_YOU.search(said):
        return False
    return True if _ASKS_OF.search(said) else False if _YOU.search(said) else None


def tells_of_another(sentence: Sentence) -> bool:
    """Return whether what the user says next without a subject is said of somebody whom the sentence names."""
    return sentence.of_another or any(map(BEING.search, sentence.clauses))
