"""English clauses that leave out `I` or more, as in haste or in a diary, and the whole clauses they stand for.

`worked till ten` is `I worked till ten`, `name's Ann` is `my name is Ann`, `dentist on Tuesday` is `I have dentist on
Tuesday`. The kinds are closed: any other clause without a subject stays as it is.
"""

from __future__ import annotations

import re
from typing import Final

from streams.extraction.rules.occupations import english_occupation

BEING: Final = re.compile(
    r"\b(?:brother|sister|son|daughter|husband|wife|partner|girlfriend|boyfriend|fianc[eé]e?|mother|father"
    r"|m[ou]m|dad|nan"
    r"|gran(?:dad|ny|ma|pa|dma|dpa|dmother|dfather)?|cousin|aunt|uncle|niece|nephew|kid|child|children|baby|parent|twin"
    r"|friend|mate|buddy|pal|roommate|flatmate|boss|manager|colleague|co-?worker|teacher|landlord|neighbou?r|client"
    r"|doctor|coach|cat|dog|puppy|kitten|rabbit|hamster|horse|pet|team|company|ex(?!-)"
    r"|(?:a|this|some|the) (?:man|woman|guy|girl|boy|bloke)(?!s))s?\b",
    re.IGNORECASE,
)
_OFTEN: Final = (
    r"(?:(?:just|recently|finally|also|already|almost|still|now|currently|newly|happily|originally|usually|mostly"
    r"|really|very|super|so|too|severely|badly|slightly|not|never|always) ){0,3}"
)
_DIARY: Final = re.compile(
    rf"^(?P<adverbs>{_OFTEN})(?P<verb>bought|worked"
    r"|got(?= (?:my|a|an|the|two|three|into|laid|fired|promoted|married|engaged|back from|divorced)\b)"
    r"|grew up|finished|booked"
    r"|signed up|ran(?= (?:a|my|the)\b)|lost|broke|spent|saved|quit|passed(?! out)"
    r"|failed|applied|sold|paid|slept|met|adopted|went(?= to)|took(?= (?:my|a|the|up)\b)|had(?= (?:my|a|an"
    r"|the|to (?:put|quit|give up|move|sell|cancel))\b)|been(?= (?:\w+ing|off|on|to|abroad|an? (?!(?:long"
    r"|busy|rough|crazy|weird|good|bad|great|hard|tough|while|minute)\b)|in [A-Z]|sober|vegan|vegetarian"
    r"|single|married|divorced|with)\b)|trying(?= to)|thinking(?= (?:of|about) \w+ing)|planning(?= (?:to|a"
    r"|on)\b)|learning"
    r"|studying|training(?= for)|saving(?= (?:up|for))"
    r"|learn(?:ed|t)(?= to)|used to(?= (?:be|work|live|play|have|smoke|drink)\b)|majored|graduated"
    r"|retired(?= (?:in|from|last|at|two|three|after)\b)|switched"
    r"|dropped out|gave up|took up|(?:laid off|let go|diagnosed|promoted)(?= (?:from|with|to|last|in"
    r"|this)\b)|doing(?= an? (?:[\w-]+ ){0,2}(?:degree|masters?|[Pp][Hh][Dd]|MA|MSc|BSc|MBA|PGCE|course"
    r"|apprenticeship|diploma|internship))|going(?= (?:\w+ing|to [A-Z]|on holiday|away|back to)\b)"
    r"|moving(?= in with)|stopped(?= \w+ing)|(?:moving|flying|travell?ing|heading)(?= (?:to [A-Z]|back to"
    r"|home (?:to|for)))"
    r"|(?:living|staying)(?= (?:in|with|on) (?:[A-Z]|an?\b|my\b|two\b|the (?:coast|city|suburbs"
    r"|countryside)))|working(?= (?:at|in|as|for) )|dating(?= (?:an?|my|someone)\b)"
    r"|seeing(?= (?:someone"
    r"|an? (?:therapist|girl|guy|man|woman|counsell?or))\b)"
    r"|getting(?= (?:married|divorced|a (?:dog|cat|puppy|kitten))\b)|expecting(?= (?:an? (?:baby|boy|girl)"
    r"|our|my|twins)\b)|raising(?= (?:(?:two|three|four|my|our|his|her) )?(?:\w+ )?(?:kids|children|boys"
    r"|girls|twins|sons|daughters)\b)|hoping(?= to)"
    r"|hate|love(?= \w+ing)"
    r"|speak(?= [A-Z])|own(?= (?:a|an|two|three)\b)|drive(?= an? (?!hard))"
    r"|can not(?= (?:start|have|eat|drink|stand|swim|drive|cook|live without)\b)"
    r"|do not(?= (?:drink|smoke|drive|eat (?:meat|pork|beef|fish|dairy|gluten)|own|speak|really)\b))\b"
)
"""How one writes of oneself in a diary, without I: `worked till ten`, `been learning to swim`."""
_SUFFERED: Final = re.compile(r"laid off|let go|diagnosed|promoted")
_FINITE: Final = re.compile(r"\b(?:is|are|was|were|has|had|tone)\b")
"""With a verb of its own a clause leaves out none: `married with children is a show`."""
_STATE: Final = re.compile(
    rf"^(?P<adverbs>{_OFTEN})(?=(?:based (?:in|out of|near)|allergic to|intolerant to|lactose intolerant"
    rf"|from [A-Z]\w*|fluent in"
    r"|(?:single|married|divorced|engaged|widowed|retired)(?=$| (?:for|since|with (?:a|two|three|\d)|to"
    r"|and|now|at|from|again|these|but)\b)|unemployed|unmarried|between jobs|[ie][ns][tf][jp]|\d'\d{1,2}"
    r"|self-employed|vegan|vegetarian|pescatarian"
    r"|coeliac|celiac|diabetic|pregnant|colou?r[- ]?blind|left-handed|dyslexic|asthmatic"
    r"|(?:obsessed|addicted) (?:with|to)|(?:scared|afraid|terrified|fond) of|(?:good|great|bad|terrible"
    r"|hopeless|useless) (?:at|with)(?! (?:last|least|it|this|that)\b)"
    r"|a (?:big |huge )?fan of|into(?! (?:the next|it|this|that)\b)|keen on|big on|interested in"
    r"|an? (?:introvert|extrovert|night owl|morning person|homebody)"
    r"|on (?:antidepressants|insulin|meds|medication|a diet(?! of)|maternity leave|sick leave)|due in)\b)"
)
"""How one is, without `I am`: `allergic to nuts`, `still single`, `not a fan of opera`."""
_DIARY_ANY: Final = re.compile(
    rf"^(?P<adverbs>{_OFTEN})(?P<verb>(?!need|feed|speed|indeed|sed\b)[a-z]{{2,12}}ed|threw|fell|caught|had"
    rf"|began|tore|drove|flew|rode|cut|hurt|found|left|made|ate|drank"
    r"|woke|saw|bought|won|(?!going to (?:bed|sleep)|being|nothing|something|anything|everything|during|morning"
    r"|evening|looking|thinking|wondering|asking"
    r"|hoping you|having said|according|speaking|talking|reading this|thing|king|ring|bring|spring|string|wing"
    r"|sing|swing|cling)"
    r"[a-z]{2,12}ing) (?!to you|you|it\b|this\b|that\b|them\b|him\b|her\b|for you)"
    r"(?=.*(?:\b(?:my|our|years?|months?|last|next|since|lessons?|classes|tomorrow|tonight|yesterday)\b"
    r"|[a-z,] [A-Z][a-z]|\d))"
)
"""A predicate without `I` that names a time, a place or something of one's own."""
_HERE: Final = re.compile(
    r"^(?P<what>(?!come|right|over|new|out|up|down|from|is|get|back|still|not|all|same|only|everything|nothing"
    r"|stay|wait|stuck|sit|good|fine|me|live"
    r"|i\b|we\b|it\b|was|been|be\b|no |yes|ok)[a-z-]+(?: [a-z-]+)?) here$"
)
"""What one is, as one enters: `lefty here`."""
_AS_A: Final = re.compile(
    r"^(?:being|as) (?P<what>an? (?!rule|result|joke|favou?r|treat|kid|child|teen|test|start|matter|side|bonus"
    r"|present|gift|surprise|whole|backup"
    r"|consequence|last|first|reminder|follow)[\w -]{3,30}|(?:vegan|vegetarian|coeliac|diabetic|dyslexic"
    r"|left-handed|autistic))$"
)
"""What one is, in a clause of its own: `being an introvert`, `as a nurse`."""
_BORN: Final = re.compile(r"^(?=born (?:and raised |and bred )?(?:in|on)\b|raised (?:in|by)\b)")
_FAN: Final = re.compile(r"^(?=(?:big|huge|massive|lifelong|die-?hard) fan of )")
_NAME: Final = re.compile(r"^(?:the )?name(?:'s| is) (?=[A-Z])")
_KIN: Final = re.compile(
    r"^(?=(?:single |proud |new )?(?:mum|mom|mother|dad|father|parent) (?:of|to) (?:an?|one|two|three|four"
    r"|five|\d|twins|boys|girls)\b|type (?:1|2|one|two) diabetic)"
)
_LOVER: Final = re.compile(
    r"^(?=(?:big|huge|massive|lifelong|die-?hard|proud) [A-Za-z]\w+(?: \w+)? (?:fan|supporter|lover|nerd)$)"
)
_ROLE: Final = re.compile(
    r"^(?P<role>(?:(?:ex|former|retired|part-time|full-time|freelance|junior|senior|trainee|qualified|registered|single"
    r"|(?:first|second|third|fourth|final)[- ]year|new|proud)[- ])?[a-z][\w' -]{2,40}?)(?: here"
    r"| by (?:trade|day|profession|training)|(?P<at> (?:at|in|for) [A-Z].{1,30}))$"
)
"""What one is: `ex-nurse here`, `welder by trade`, `second year med student here`."""
_FORMER: Final = re.compile(r"^(?:ex|former|retired)[- ](?P<role>[a-z][\w ]{2,30})$")
_WITH: Final = re.compile(r"^me and (?P<who>my [\w-]+|[A-Z]\w+) (?=\w)")
_DUE: Final = re.compile(
    r"^(?=(?:(?P<who>(?:dentist|doctor|gp|vet|physio|therapist)(?= (?:on|at|tom|next|this)))|dentist"
    r"|doctor|gp|vet|physio|therapist|therapy|haircut|blood test|scan|mri|x-ray|surgery|smear"
    r"|(?:job |driving |final |phone )?(?:interview|test|exam|exams|appointment|flight|meeting|checkup"
    r"|check-up)|wedding|funeral|deadline|hospital)\b"
    r"(?: (?:appointment|check-?up|visit|scan|to [A-Z]\w+|for my \w+))? (?:on|at|tomorrow|tonight|next"
    r"|this|today|in (?:an?|two|three|\d))\b)"
)
"""What lies ahead: `dentist on Tuesday at 3`, `job interview tomorrow`."""
_BEGINS: Final = ((_STATE, "I am "), (_BORN, "I was "), (_FAN, "I am a "), (_KIN, "I am a "), (_LOVER, "I am a "))


def whole(text: str, before: tuple[str, ...]) -> str:
    """Return a clause with the words that it leaves out where it speaks of the user; any other as it is.

    `before` is what was said before it: what follows the name of somebody else may be theirs.
    """
    if any(map(BEING.search, before)):
        return text
    low = text[:1].lower() + text[1:]
    if m := _DIARY.match(low) or (None if _FINITE.search(low) else _DIARY_ANY.match(low)):
        return f"I {m['adverbs']}{_helping(m['verb'])}{low[m.start('verb') :]}"
    if m := _NAME.match(low):
        return f"my name is {text[m.end() :]}"
    if _FINITE.search(low):
        return text
    begins = next((begin for pattern, begin in _BEGINS if pattern.match(low)), None)
    return f"{begins}{low}" if begins else _of_noun(low, before) or text


def _helping(verb: str) -> str:
    if _SUFFERED.match(verb):
        return "was "
    return "have " if verb == "been" else "am " if verb.endswith("ing") else ""


def _of_noun(low: str, before: tuple[str, ...]) -> str | None:
    """Return the whole clause of one that names what somebody is, whom they are with, or what lies ahead."""
    if (m := _AS_A.match(low)) or (not before and (m := _HERE.match(low))):
        return f"I am {m['what'] if m.re is _AS_A else _a(m['what'])}"
    if m := _WITH.match(low):
        return f"{m['who']} and I {low[m.end() :]}"
    if m := _FORMER.match(low):
        return f"I used to be {_a(m['role'])}" if english_occupation(m["role"]) else None
    if (m := _ROLE.match(low)) and english_occupation(m["role"].replace("-", " ")):
        return f"I am {_a(m['role'])}{m['at'] or ''}"
    if m := _DUE.match(low):
        return f"I have {_a(m['who'])} appointment{low[m.end('who') :]}" if m["who"] else f"I have {_a(low)}"
    return None


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
