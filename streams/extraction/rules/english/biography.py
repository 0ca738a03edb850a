"""English statements about one's life that fill no slot: what somebody does, has, had, plans, and no longer does.

They are read only where no other rule finds anything in the clause: the words stay, said of the user.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from streams.extraction.rules.english.about_self import left_work
from streams.extraction.rules.english.life import third_person
from streams.extraction.rules.english.people import FAMILY, FRIENDS, KNOWN, PETS
from streams.extraction.rules.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.english.clauses import Clause

_LONGEST: Final = 20
"""Words. A longer clause is a story."""

_POINTS: Final = re.compile(
    r"\b(?:it|this(?! (?:week|month|year|summer|winter|spring|autumn|weekend|evening|afternoon|morning))"
    r"|that|these|those"
    r"|you|your|them|they|he|she|something|anything|nothing|everything|somewhere|someone|somebody|thing|stuff|way)\b",
    re.IGNORECASE,
)
_DOES: Final = (
    "drive own wear play collect grow raise keep train coach volunteer sing dance paint draw knit crochet sew cook bake"
    " climb cycle bike ski surf swim jog run meditate garden practise practice study speak rent commute code write"
    " photograph brew teach manage lead freelance attend subscribe donate smoke vape fish hunt camp hike travel sail"
    " row box skate ride lift live work use share take restore repair make breed host tutor babysit foster sleep owe"
    " take have belong support follow"
)
_NO_DOING: Final = re.compile(
    r"^(?:run (?:out|into|late)|make (?:sure|sense|a (?:mistake|point|wish))|take (?:care|a (?:look|break"
    r"|nap|seat|shower))"
    r"|work (?:hard|well|fine|on|out)$|live (?:and|for|with)$|have (?:to|no|a (?:good|nice|great|bad"
    r"|quick|feeling|question"
    r"|problem|headache|cold|idea|point|look|go|minute|second|moment|few|lot|hard|long|busy|fun|chance|request|doubt)"
    r"|an (?:idea|issue|urge|question)|another|some(?! \w+ allergies)|any|trouble(?! sleeping)|fun|time"
    r"|enough|so|you|not"
    r"|lots|plenty|questions?|breakfast|lunch|dinner|coffee|tea)\b"
    r"|share (?:that|your|the same)|use (?:it|to)|keep (?:\w+ing|going|on|in)|play (?:along|with)|write (?:to|this)"
    r"|follow (?:you|the|that)|support (?:you|that)|draw (?:a|the) (?:line|conclusion))",
    re.IGNORECASE,
)
_DOING: Final = (
    "learning studying training saving preparing applying renting reading writing moving renovating planning looking"
    " recovering expecting raising taking working living dating seeing building restoring watching"
    " practising practicing getting starting joining changing switching retiring trying organising organizing hosting"
    " coaching volunteering teaching cutting struggling suffering thinking considering remodelling remodeling"
    " paying undergoing playing"
    " growing doing running quitting divorcing adopting buying selling fostering expecting wearing"
)
_NO_DOING_NOW: Final = re.compile(
    r"^am (?:(?:looking (?:at|forward|up|into)|trying to (?!cut|quit|lose|eat|learn|stop|save|get|become"
    r"|conceive|drink"
    r"|reduce|give|gain|build|exercise|sleep|walk|wake)|thinking(?! (?:of|about) \w+ing)|considering(?! \w+ing)"
    r"|getting(?! (?:married|divorced|my|a|an|into|braces|surgery|promoted))|working(?! (?:nights|from"
    r"|part|two|full|as|on"
    r"|towards?|in|at|remotely|abroad))|doing(?! (?:a|an|my) )|starting(?! (?:a|my|at|in|on|to))|taking(?! (?:a|an|my"
    r"|medication|\w+ (?:lessons|classes|pills|medicine|antibiotics))))|taking a (?:look|break|nap|walk|shower))",
    re.IGNORECASE,
)
_IS: Final = (
    r"(?:half |part |originally )?(?:[A-Z][a-z]+(?:ese|ian|ish|can|ean|rench)|German|Dutch|Welsh|Greek|Thai"
    r"|Iraqi|Israeli|Pakistani|Afghan|Swiss|Czech|Saudi|Filipino|Filipina|Moroccan|Muslim|Jewish|Catholic)"
    r"|left[- ]handed|right[- ]handed"
    r"|colou?r[- ]?blind|diabetic|pregnant|asthmatic|deaf|dyslexic"
    r"|c(?:o)?eliac|autistic"
    r"|retired|unemployed|self[- ]employed|bilingual|adopted|divorced|widowed|near[- ]sighted|short[- ]sighted|anemic"
    r"|bald|(?:deaf|blind|partially deaf) in (?:one|my) .+|\d'\d{1,2}|(?:not )?religious"
    r"|(?:the )?(?:youngest|oldest|eldest)\b.*|(?:hopeless|terrible|awful|bad|rubbish|useless"
    r"|not (?:very )?good) (?:at|with) (?!this|that|it).+|jewish|muslim|christian|catholic|buddhist|hindu"
    r"|atheist|claustrophobic|vegetarian|vegan|pescatarian|sober"
    r"|allergic|gay|lesbian|bisexual|transgender|nocturnal|between jobs|on (?:a diet|medication"
    r"|(?:[\w-]+ ){0,2}(?:antidepressants|painkillers|blood thinners|beta blockers|steroids|inhalers?|hrt"
    r"|ssris|meds|birth control)\b.*"
    r"|antibiotics\b.*|insulin\b.*|statins\b.*|the pill|maternity leave"
    r"|paternity leave|parental leave|sick leave|the night shift|night shifts?|a (?:business"
    r"|work) trip\b.*|call\b.*|night shift\b.*|the (?:night|day|early|late) shift\b.*"
    r"|the (?:board|committee|\w+ team)\b.*)|in (?:my (?:first|second|third|fourth|final|last) year\b.*|therapy\b.*)"
    r"|(?:originally |actually )?from (?:an? (?:[\w-]+ ){0,3}(?:village|town|city|family|farm|island)\b"
    r"|[A-Z]).*|(?:\d+|one|two|three|four|five|six|seven) (?:foot|feet|cm"
    r"|metres?|meters?|kilos)\b.*"
    r"|(?:more of )?(?:not )?an? (?:(?!bit|little|lot|good|huge|big|friend|human|real|person"
    r"|fan)[\w-]+ ){0,3}(?:person|owl|bird|lover"
    r"|mother|father|mom|mum|dad|parent|grandmother|grandfather|student|freelancer|twin|only child"
    r"|middle child|veteran"
    r"|immigrant|expat|member|volunteer|vegetarian|vegan|beginner|smoker|drinker|eater|homeowner|widow"
    r"|widower|citizen"
    r"|capricorn|aquarius|pisces|aries|taurus|gemini|cancer|leo|virgo|libra|scorpio|sagittarius)\b.*"
    r"|(?:afraid|scared|terrified|frightened) of .+|used to \w+ing .+"
)
_HAPPENED: Final = (
    "bought adopted moved started passed graduated lost quit retired signed|signed up broke|broke up tore injured won"
    " joined enrolled finished named got|got married|got engaged|got divorced grew|grew up studied majored owned"
    " sprained fractured ran opened founded sold inherited switched stopped gave|gave up began married divorced"
    " converted emigrated immigrated failed dropped|dropped out met built had trained worked lived"
    " served published planted renovated"
)
_CORE: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"^(?:{_DOES.replace(' ', '|')}) (?!back\b|up\b|down\b|away\b)\S.*",
        rf"^am (?:now |currently |also |still |finally |slowly )?(?:{_DOING.replace(' ', '|')})\b.*",
        (
            rf"^am (?:(?:[a-z]+ly|a bit|slightly|very|so|quite) )?(?:{_IS})(?: (?:now|at the moment|these days"
            r"|right now|currently|again|(?:since|for) .+))?$"
        ),
        (
            r"^have (?:just |recently |already |finally )?(?:never )?been (?:to [A-Z]|\w+ing\b|an? |on |in "
            r"|vegetarian|vegan|sober"
            r"|married|divorced|single|together|sick|ill|unemployed|retired|widowed|living|working).*"
        ),
        (
            r"^have (?:just |recently |already |finally |never )?(?:lived|worked|played|adopted|bought|moved"
            r"|started|quit|stopped"
            r"|joined|signed|decided|owned|had|known|lost|finished|passed|graduated|visited|travelled|traveled"
            r"|broken|taken up"
            r"|given up|run|written|published|switched|booked|enrolled|applied|seen|tried|eaten|smoked|drunk)\b.*"
        ),
        (
            r"^have got (?:an?|the|my|two|three|four|five|six|\d+|asthma|diabetes|adhd|arthritis|allergies|hay fever"
            r"|high blood|low blood|insomnia|anxiety|eczema|tinnitus|psoriasis|migraines|epilepsy)\b.*"
        ),
        (
            r"^(?:get|suffer from|struggle with|deal with) .*\b(?:migraines?|headaches?|insomnia|anxiety"
            r"|depression|allergies"
            r"|seasick|carsick|hay fever|back pain|nosebleeds|panic attacks|asthma|eczema|anemia|dizzy)\b.*"
        ),
        (
            r"^(?:drink|eat|buy|wear|use|order|read|listen to|watch|go to|go|walk|see|visit|call|spend|take"
            r"|wake up|get up) .*\b"
            r"(?:every|each|daily|twice|once a|times a|before|after|at \d|at (?:night|noon)|weekends?|weekdays?|on "
            r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|most of my|for breakfast|for lunch|for dinner)\b.*"
        ),
        (
            r"^(?:want|hope|plan|need|intend|am hoping|am planning|am going) to (?:learn|visit|become|travel|move"
            r"|study|start"
            r"|quit|retire|open|buy|lose|run a|write a|get (?:married|a|my|fit)|adopt|change|apply|save|see the)\b.*"
        ),
        (
            r"^(?:do not|never) (?:eat|drink|smoke|drive|own|wear|use|watch|have (?:a|an|any|kids|children"
            r"|siblings|pets)|speak|cook"
            r"|take)\b.*"
        ),
        (
            r"^can (?:not )?(?:swim|drive|cook|ride|ski|sing|dance|whistle|read|sew|juggle|type|speak|play|eat"
            r"|drink|tolerate)\b.*"
        ),
        r"^(?:am|do) not (?!know|think|want|feel|sure\b).* any ?more$",
        (
            r"^(?:bake|knit|sew|surf|weld|garden|meditate|vape|smoke|swim|ski|stutter|snore|lisp|crochet|sculpt"
            r"|stream|blog|vlog|climb)"
            r"(?: (?:a lot|a bit|too|myself|for fun|on the side))?$"
        ),
        (
            r"^(?:go by|come from|commute|weigh|stand|identify as|major in|specialise in|specialize in|sleep"
            r"|prefer|sit on) .+"
        ),
        (
            r"^(?:need|have|must) (?:to )?(?:renew|return|submit|finish|pay|file|hand in|book|cancel|replace"
            r"|repair) (?:my|our|the) .+"
        ),
        r"^(?:always|usually|only|mostly) (?:order|have|eat|drink|take|buy|wear|use) .+",
    )
)
_ALWAYS_HAS: Final = re.compile(
    r"^(?:have|order|eat|drink|take|buy|wear|use|forget|get|put|add|watch|read|listen to|speak|cook"
    r"|work) (?!to\b|a feeling|an idea)\S.*"
)
_OFTEN: Final = re.compile(r"\b(?:always|usually|only|mostly|normally|generally|typically|rarely)\b")
_PAST_CORE: Final = re.compile(
    rf"^(?:(?:{'|'.join(_HAPPENED.replace('|', ' ').split())})\b(?!$)"
    r"|(?:was|were) (?:born|adopted|promoted|diagnosed|raised|hired|fired|laid off|accepted|admitted|married"
    r"|vegetarian|vegan|in the"
    r"|an? )\b|used to \w|no longer \w|am no longer \w|got my \w|have broken\b).*"
)
_GAVE_UP: Final = re.compile(
    r"^(?:(?:have )?(?:quit|stopped|gave up|given up) (?:smoking|drinking|vaping|eating|playing|watching|taking"
    r"|using|running|going"
    r"|dancing|teaching|working|gambling|biting|driving|buying|dating)\b.*"
    r"|left (?:(?-i:[A-Z])[\w&]+(?: [A-Z]\w+)?(?: (?:last|in|after|for good)\b.*)?$|my (?:job|husband|wife"
    r"|boyfriend|girlfriend"
    r"|partner|firm|company|church)\b.*|the (?:army|navy|military|church|company|firm|band|team|police)\b.*"
    r"|(?:teaching|nursing|school|college|university|home) (?:at|in|to|last|when)\b.*))",
    re.IGNORECASE,
)
_NO_HAPPENING: Final = re.compile(
    r"^(?:quit(?: (?:in|last|this|two|three|four|five|a|\d+|years?|months?|weeks?|ago|yesterday|today"
    r"|smoking))*$|got (?:it|up|back|home|to|here|there|you|so|stuck|lost|the (?:point|joke|idea))"
    r"|had (?:a (?:good|great|nice|bad|long"
    r"|busy|rough|lovely|feeling|question|quick)|to|fun|lunch|dinner|breakfast|no|enough|so|some|one)"
    r"|lost (?:track|my mind|count)"
    r"|started (?:to (?:think|feel|wonder)|feeling|thinking|over)|finished (?:work|eating|lunch|dinner"
    r"|it)|ran (?:out|into|late)"
    r"|met (?:a|an|the|some) (?!love)|gave (?:it|him|her|them|you)|broke (?:even|the)"
    r"|was an? (?:kid|child|baby|boy|girl|teenager)$|was an? (?:bit"
    r"|little|good|bad|great|joke"
    r"|long|lot|nightmare|mess|disaster)|used to it|worked (?:late|out|hard|today|on)|stopped (?:by|at|for))\b",
    re.IGNORECASE,
)
_OWN_THING: Final = (
    r"car|bike|motorbike|flat|apartment|house|home|room|garden|balcony|knee|back|shoulder|ankle|hip|wrist"
    r"|eyes?|eyesight|feet"
    r"|hair|teeth|blood type|blood pressure|heart|height|weight|rent|mortgage|insurance|licen[cs]e|visa"
    r"|passport|lease|contract"
    r"|new job|job|internship|team|company|salary|commute|shift|schedule|wedding|phone(?: number)?|laptop"
    r"|computer|email"
    r"|size|shoe size|degree|thesis|school|university|office|doctor|dentist|therapist|psychiatrist"
    r"|hometown|parents|grandparents"
    r"|in-laws|kids|children|sons|daughters|sisters|brothers|siblings|cats|dogs|twins|family"
    r"|husband's? \w+|wife's? \w+|ex|zodiac sign"
    r"|religion|nationality|native country|commute|band|book club|hamster"
)
_MINE: Final = re.compile(
    rf"^(?:[Mm]y|[Oo]ur) (?:(?:new|old|own|late|youngest|oldest|eldest|younger|older|little|big|best|good"
    rf"|close|favou?rite|left|right|two|three) )*"
    rf"(?:{FAMILY}|{FRIENDS}|{KNOWN}|{PETS}"
    rf"|{_OWN_THING})(?:'s \w+)?(?: [A-Z]\w+)?(?: and (?:my )?(?!I\b)\w+)?,? (?P<does>.+)$"
)
_NO_DOES: Final = re.compile(
    r"^(?:and i\b|(?:is|are) (?:visiting|helping|sleeping|eating|watching|coming|sitting|crying|laughing"
    r"|talking|calling"
    r"|waiting)\b|kiss(?:ed)?|hugg?ed|licked|is (?:so|very|really|too|such|just|being|always|the best"
    r"|amazing|awesome|great|annoying|funny|nice|cute|weird"
    r"|crazy|fine|ok|okay|here|wrong|right|cool|adorable|mad|angry|upset|dead to|a joke)|are (?:so|very"
    r"|really|too|the best|great"
    r"|amazing|annoying|fine|here|fun)|was (?:so|very|really|too|right|wrong|late|great|fine|amazing)"
    r"|says?|said|told|thinks?|keeps?"
    r"|wants?|just(?! (?:turned|started|got|had|moved|graduated|finished|left|bought|lost|retired|passed))"
    r"|looks?|seems?|feels?|made|makes|gave|asked|called|drives me|hates? (?:me|when)"
    r"|loves? (?:me|it)|likes? (?:it|you)"
    r"|will|would|could|should|might|can|agrees?|did|didn't|doesn't (?:know|care|understand|get)"
    r"|got (?:mad|angry|upset))\b",
    re.IGNORECASE,
)
_OF_OTHERS: Final = re.compile(
    r"^(?:my|our) (?:[\w-]+ )?(?:friend|coworker|colleague|neighbou?r|boss|roommate|classmate)'s (?:boss|friend|cousin"
    r"|brother|sister|mother|mom|mum|dad|father|wife|husband|son|daughter|neighbou?r|roommate|colleague|coworker"
    r"|girlfriend|boyfriend)\b",
    re.IGNORECASE,
)
"""A person of somebody whom the user knows is too far from the user to be remembered."""
_JOINT: Final = re.compile(
    r"^(?:(?:my|our) )?(?P<who>(?-i:[A-Z][a-z]{1,14})|husband|wife|partner|girlfriend|boyfriend"
    r"|fianc[eé]e?|best friend|sister"
    r"|brother|mom|mum|mother"
    r"|dad|father|family) and i (?P<verb>are|have|live|own|run|got|bought|adopted|moved|met|share|just"
    r"|play|go|do not|did not|never|always|went|fight|argue|fought|split|broke|started|opened|used"
    r"|work|grew|divorced|separated|married|date|started dating) (?P<what>.+)$",
    re.IGNORECASE,
)
_ADVISED: Final = re.compile(
    r"^(?:my|the) (?:doctor|dentist|therapist|physio(?:therapist)?|cardiologist|nutritionist|dietician|dietitian|gp) "
    r"(?:says?|said|told me|thinks|recommended|advised|wants me|diagnosed|prescribed)\b.{4,}$",
    re.IGNORECASE,
)


_EVERY: Final = re.compile(r"every|each|on \w+days\b", re.IGNORECASE)
_OUR_PLANS: Final = re.compile(r"are (?:expecting|moving|getting married|renovating|adopting|planning)\b")


def biography(clause: Clause) -> Iterator[Finding]:
    """Yield what a clause in which nothing else was found tells of the user's life, in its words."""
    text, core = clause.text, clause.core
    if len(text.split()) > _LONGEST:
        return
    if clause.subject == "other":
        yield from _of_mine(clause)
        return
    if not _POINTS.search(core) and (
        _GAVE_UP.match(core) is not None
        or (_is_past(clause) if clause.past or _PAST_CORE.match(core) else _is_present(clause))
    ):
        yield Finding(content=third_person(clause), category="habit" if _EVERY.match(clause.when) else "fact")


def of_them(clause: Clause, named: Finding) -> Finding | None:
    """Return what a clause says by `she`, `he` or `they` of somebody whom a finding names, with that one's words."""
    m = _THEY.match(clause.text)
    if m is None and named.attribute is None and clause.before[-1:] and clause.before[-1].startswith("who "):
        goes_on = _ALSO_DOES.match(clause.text)
        return replace(named, content=f"{named.content} and {goes_on['does']}") if goes_on else None
    if m is None or _NO_DOES.match(f"is {m['does']}" if m["short"] else m["does"]) or _POINTS.search(m["does"]):
        return None
    does = f"{'has' if _HAS.match(m['does']) else 'is'} {m['does']}" if m["short"] else m["does"]
    said = re.sub(r"\b(?:I|we|me|us)\b", "user", re.sub(r"\b(?:my|our)\b", "user's", does))
    if named.attribute is None:
        return replace(named, content=f"{named.content}, {m['who'].lower()} {said}")
    who = re.fullmatch(r"User's (?P<who>.+) is called (?P<name>.+)", named.content)
    return Finding(content=f"User's {who['who']} {who['name']} {said}", category="people") if who else None


_THEY: Final = re.compile(r"^(?:and )?(?P<who>he|she|they|who)(?P<short>'s)? (?P<does>.{4,60})$", re.IGNORECASE)
_ALSO_DOES: Final = re.compile(r"^(?P<does>(?:is|has|lives|works|studies|teaches|owns|plays|loves|speaks) [^?]{2,60})$")
"""What goes on of one who was told of with "who": My sister Anna, who lives in Paris, is a doctor."""
_HAS: Final = re.compile(r"(?:got|been|had|lived|worked|just)\b")


def _is_past(clause: Clause) -> bool:
    return _PAST_CORE.match(clause.core) is not None and _NO_HAPPENING.match(clause.core) is None


def _is_present(clause: Clause) -> bool:
    core = clause.core
    if _NO_DOING_NOW.match(core) or (core.startswith("work") and any(map(left_work, clause.rest))):
        return False
    if _EVERY.match(clause.when) or (clause.subject == "we" and _OUR_PLANS.match(core)):
        return True
    if _NO_DOING.match(core):
        return False
    usual = _OFTEN.search(clause.adverbs) is not None and _ALWAYS_HAS.match(core) is not None
    return usual or any(pattern.match(core) for pattern in _CORE)


def _of_mine(clause: Clause) -> Iterator[Finding]:
    text = clause.text
    if _OF_OTHERS.match(text):
        return
    if _MINE.match(text) and _is_told(text):
        yield Finding(content=third_person(clause), category="people" if _of_people(text) else "fact")
    elif m := _JOINT.match(text):
        what = re.sub(r"(?i)\b(?:my|our)\b", "their", m["what"])
        who = m["who"] if m["who"][0].isupper() else f"their {m['who']}"
        yield Finding(content=f"User and {who} {m['verb']} {what}")


def advised(said: str) -> Iterator[Finding]:
    """Yield what a doctor says of the user, which is reported speech and is believed."""
    if _ADVISED.match(said):
        content = re.sub(r"(?i)^(?:my|the)\b", "User's", said)
        yield Finding(content=re.sub(r"\b(?:I|me)\b", "user", re.sub(r"\bmy\b", "their", content)))


def _is_told(text: str) -> bool:
    m = _MINE.match(text)
    return (
        m is not None
        and _BARE_NAME.match(m["does"]) is None
        and _NO_DOES.match(m["does"]) is None
        and _POINTS.search(_AND.split(m["does"])[0]) is None
    )


_AND: Final = re.compile(r" (?:and|but|so) ")
_BARE_NAME: Final = re.compile(r"[A-Z][a-z]+$")
"""What tells no more than a name: `My sister Anna` alone."""


_PEOPLE: Final = re.compile(rf"^(?:my|our) (?:[\w-]+ )?(?:{FAMILY}|{FRIENDS}|{KNOWN}|{PETS})\b", re.IGNORECASE)


def _of_people(text: str) -> bool:
    return _PEOPLE.match(text) is not None
