"""English clauses of one's life that are known by what they speak of: health, work, school, home, people, tastes.

They are read last, where neither a slot nor a verb of one's life was found. What passes within the hour is no memory,
and neither is what points to something that was said elsewhere.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from streams.extraction.rules.english.about_self import left_work
from streams.extraction.rules.english.life import third_person
from streams.extraction.rules.english.people import FAMILY, FRIENDS, KNOWN, PETS
from streams.extraction.rules.english.things import things
from streams.extraction.rules.finding import Finding, profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.english.clauses import Clause

_SHORTEST: Final = 4
_LONGEST: Final = 24
"""Words."""

_HEALTH: Final = (
    "blood|cholesterol|pressure|diabet\\w*|thyroid|heart|stomach|knees?|back|shoulder|ankle|wrist|hip|elbow"
    "|neck|eyes?|eyesight|hearing"
    "|teeth|tooth|wisdom|braces|glasses|contacts|skin|asthma|allerg\\w*|eczema|migraine|headaches?|insomnia"
    "|sleep|asleep|surgery|operation"
    "|hospital|clinic|doctor|dentist|therap\\w*|psychiatrist|physio|rehab|chemo|cancer|tumou?r|stroke|covid|flu"
    "|pneumonia|concussion|stitches|crutches"
    "|wheelchair|cane|hearing aids?|medication|meds|pills?|antibiotics|insulin|vaccine|shots?|pregnan\\w*|due"
    "|miscarriage|ivf|menopause|period|weight|pounds|kilos"
    "|diet|keto|calories|fasting|smok\\w*|vap\\w*|sober|drinking|rehab|anxi\\w*|depress\\w*|adhd|autis\\w*"
    "|dyslexi\\w*|ptsd|panic|burn(?:ed|t) out|burnout|broke|broken|sprained|tore|fractured|diagnos\\w*|sick"
)
_WORK: Final = (
    "works?|worked|working|job|boss|manager|cowork\\w*|colleague|company|office|shifts?|overtime|salary|raise"
    "|bonus|promot\\w*|layoffs?|laid off|fired|quit|resign\\w*|retire\\w*|unemployed"
    "|interview|r[eé]sum[eé]|intern\\w*|apprentic\\w*|freelanc\\w*|client|business|startup|shop|store|caf[eé]"
    "|restaurant|warehouse|factory|contract|career|commute|remote|paycheck|union"
    "|side hustle|gig|customers?|project lead|maternity leave|sabbatical"
)
_SCHOOL: Final = (
    "school|college|university|uni|campus|dorm|class|classes|course|degree|major|minor|master'?s|phd|thesis"
    "|dissertation|exams?|finals|midterms?|gpa|grades?|scholarship"
    "|semester|freshman|sophomore|junior|senior|graduat\\w*|kindergarten|daycare|preschool|tutor|bar exam"
    "|driving|licen[cs]e|certificat\\w*|homeschool|varsity|team captain|detention|teacher"
)
_HOME: Final = (
    "house|home|apartment|flat|condo|studio|rent|renting|lease|landlord|mortgage|roommates?|flatmate"
    "|neighbo\\w*|basement|attic|garden|yard|balcony|kitchen|renovat\\w*|remodel\\w*|mov(?:ed|ing)"
    "|car|truck|van|motorcycle|scooter|bike|phone|laptop|camera|loan|debt|savings|insurance|passport|visa"
    "|green card|citizen|credit card|budget|owes?"
)
_PEOPLE: Final = (
    "married|wedding|engaged|divorc\\w*|separated|broke up|dating|dated|girlfriend|boyfriend|fianc\\w*|husband"
    "|wife|ex|partner|single|kids?|child|children|baby|toddler|teenager|son|daughter|mom|mum|dad"
    "|mother|father|parents|brother|sister|siblings?|twins?|grand\\w*|aunt|uncle|cousin|niece|nephew|in-laws"
    "|step(?:mom|dad|son|daughter|mother|father|brother|sister|kids)|funeral|passed away|died|adopt\\w*|foster"
    "|custody|anniversary|birthday|best friend|friends?|blind date"
)
_LEISURE: Final = (
    "yoga|pilates|gym|running|marathon|swim\\w*|basketball|soccer|football|baseball|hockey|tennis|volleyball"
    "|golf|bowling|boxing|karate|judo|martial|dance|dancing|ballet|skiing|snowboard\\w*|skat\\w*|surf|div(?:e|ing)"
    "|climb\\w*|hik\\w*|camp|cycl\\w*|fish\\w*|hunt|kayak|sail\\w*|guitar|piano|violin|drums|ukulele|cello"
    "|choir|band|sing\\w*|paint\\w*|draw\\w*|pottery|ceramics|knit\\w*|crochet\\w*|sew\\w*|quilt|woodwork\\w*"
    "|photograph\\w*|video games?|gaming|d&d|chess|poker|puzzles?|lego"
    "|novels?|books?|reading|podcast|netflix|series|anime|manga|movies?|concert|festival|theat(?:er|re)|museum"
    "|travel|trip|vacation|cruise|road trip|abroad|passport|church|volunteer\\w*|baking|cooking|garden|spanish"
    "|french|german|japanese|korean"
    "|mandarin|chinese|italian|portuguese|arabic|language|coding|programming|scouts|book club|astronomy|birdwatch"
)
_FOOD: Final = (
    "coffee|tea|beer|wine|whiskey|alcohol|soda|milk|dairy|lactose|gluten|cheese|meat|vegan"
    "|vegetarian|pork|beef|chicken|seafood|shellfish|spicy|sugar|sweets|chocolate|breakfast|bread|kosher"
    "|halal|thanksgiving|christmas dinner|nuts"
)
_PETS: Final = (
    "cats?|dogs?|pupp\\w*|kitten|rabbit|hamster|parrot|horse|chickens|tank|goldfish|pets?|vet"
    "|neutered|spayed|litter|rescue"
)
_ROOTS: Final = (
    "grew up|raised|born|hometown|immigra\\w*|small town|countryside|farm|coast|military|army|navy"
    "|marines|veteran|catholic|jewish|muslim|christian|buddhist|church|atheist|scorpio|aries|taurus|gemini"
    "|leo|virgo|libra|sagittarius|capricorn|aquarius|pisces"
)
_TOPIC: Final = re.compile(
    rf"\b(?:{_HEALTH}|{_WORK}|{_SCHOOL}|{_HOME}|{_PEOPLE}|{_LEISURE}|{_FOOD}|{_PETS}|{_ROOTS})(?:s|es|'s)?\b",
    re.IGNORECASE,
)
_POINTS: Final = re.compile(
    r"\b(?:each other|you|your|yours|it|that(?! (?:she|he))|these|those|them|something|anything|nothing"
    r"|everything|someone|somebody|thing|things|stuff|way|here"
    r"|this(?! (?:week|month|year|summer|winter|spring|autumn|fall|semester|weekend|coming)))\b",
    re.IGNORECASE,
)
_PASSES: Final = re.compile(
    r"^(?:(?:was|were) not\b|seems?\b|talked\b|am (?:all|not going to|even)\b|are all\b|was (?:an? )?(?:little "
    r"|young )?(?:kid|child|boy|girl|teen\w{0,6}|baby|little|young|small|\w+)$|am not (?:an?|the)\b|am (?:so "
    r"|too |really |just |very |pretty |a bit |not |super |truly |totally |quite |also |still ){0,4}(?:tired"
    r"|hungry|thirsty|bored|sorry|fine|good|ok|okay|glad|happy|sad|back|done|ready|sure|kidding|late|confused"
    r"|impressed|curious"
    r"|grateful|thankful|thrilled|determined|keen|up for|game|going to (?:keep|try|go|get|make|do|be)|proud"
    r"|here|there|home|sick of|aware|serious|stuffed|full|exhausted|sleepy|cold|hot|excited|lucky|wondering"
    r"|asking|listening|talking|saying|telling|heading|about to|off to"
    r"|on my way|in (?:bed|the car|a meeting|a hurry)|feeling|trying|looking|waiting|sitting|eating|watching"
    r"|getting (?:tired|hungry|bored|sleepy))"
    r"|have (?:to (?:go|run|say|admit|get|be|work|sleep|leave)|no |a (?:question|feeling|idea|point|minute"
    r"|headache|meeting)|been (?:thinking|wondering|meaning|busy|good|ok|okay|fine|better))"
    r"|can (?!not (?:eat|drink|drive|swim|cook|run|walk|sleep|fall|sit|lift|digest|tolerate|have|wear|work|afford))"
    r"|do not (?:live|know|think|care|mind|understand|get|want|need|remember|believe|feel|see|mean|have (?:time|to"
    r"|any idea|the energy))"
    r"|need|want(?! to (?:have|get|be|see|go|do|live|run|open|own|start|work|pay|finish|have))|feel|felt|think"
    r"|thought|know|knew|see|saw|hear|heard|guess|mean|meant|bet|hope|agree|understand|appreciate|swear|suppose"
    r"|wonder|assume"
    r"|remember|forgot|believe|trust|miss|love|like|hate|prefer|enjoy|said|say|told|tell|ask|asked|tried|try"
    r"|found|looked|look|noticed|realized|wanted|decided|figured|expected|wished"
    r"|will\b|must|shall|should|ate|had (?:a |an )?(?:lunch|dinner|breakfast|coffee|good|great|nice|fun|pizza|bad)"
    r"|just (?:woke|ate|got (?:home|back|up|in)|finished)|got (?:home|back|up|to|it|in|out|off|hungry|tired"
    r"|bored)|work(?:ed)? (?:hard|well|fine|out)|woke|went to (?:bed|sleep|work|the (?:store|shop))"
    r"|go(?:t)? to (?:go|run|sleep)|came|sat|ordered|make|made)\b",
    re.IGNORECASE,
)
_MOMENT: Final = re.compile(
    r"\b(?:right now|at the moment|just now|in a (?:minute|second|bit)|brb|later(?! this)|joke|weather|raining"
    r"|snowing|sunny|traffic|kidding|lol|lmao|thanks|thank)\b",
    re.IGNORECASE,
)
_DO: Final = re.compile(
    r"^do (?P<what>(?:the )?(?:bookkeeping|accounting|marketing|sales|tech support|customer service|it support"
    r"|data entry|payroll|landscaping|catering|consulting|graphic design|web design|web development|hair|nails"
    r"|taxes|security|construction|plumbing"
    r"|roofing|cleaning|childcare|social work|qa|hr|recruiting|logistics|research|translations?|copywriting"
    r"|video editing|nursing|home care|deliver(?:y|ies)|tattoos|makeup|massage))\b(?P<tail>(?: (?:for|at|in"
    r"|with|on)\b.*)?)$",
    re.IGNORECASE,
)
_WORN: Final = re.compile(
    r"^(?P<what>[A-Za-z][\w' -]{2,30}?) (?:always |really |just |totally |completely )*(?:kills?|upsets?"
    r"|wrecks?|destroys?|ruins|irritates?|bothers?|hurts?|messes up|mess up) my "
    r"(?:stomach|skin|sinuses|head|gut|back|knees?|throat|teeth|sleep)\b",
    re.IGNORECASE,
)
_TASTES: Final = re.compile(
    r"^(?P<what>[A-Za-z][\w' -]{2,30}?) (?:(?:is|are) (?:just )?(?:disgusting|gross|vile|rank|revolting"
    r"|overrated)|(?:just |always |really )*(?:tastes?|smells?) (?:like|so|awful"
    r"|disgusting|gross|terrible|horrible|nasty)\b.*|(?:(?:grosses|freaks|creeps|stresses) me out"
    r"|makes? me (?:gag|bloated|ill|queasy|sleepy|sick|nauseous|nervous|anxious|itch|sneeze)"
    r"|gives? me (?:the creeps|anxiety|heartburn"
    r"|nightmares|hay fever)|(?:is|are) not (?:really )?my thing"
    r"|(?:(?:is|are) )?not for me)(?: .*)?)$",
    re.IGNORECASE,
)
_KNOWS: Final = re.compile(
    r"^know (?:a little|some|a bit of|a little bit of|basic|conversational) (?P<what>[A-Z]\w+(?:ese|ish|ian|ean"
    r"|ic|ench|ndi|ch)|German|Hebrew|Mandarin|Urdu|Tagalog|Greek|Latin|Thai)\b"
)
_PLAINLY: Final = re.compile(
    r"^(?:am the (?:one|only one|person|type|kind of person) (?:who|that)\b|will be (?:in|at|away|out of|off"
    r"|travell?ing|visiting|flying|starting|moving|turning|going|taking|having) (?!there\b|soon\b|a minute"
    r"|a second|touch)"
    r"|(?:really |absolutely )?(?:can not stand|hate|love|dislike|do not like|enjoy"
    r"|can not handle) (?:people who|when (?:people|someone|others)|being (?!with\b)|having to|the (?:smell"
    r"|sound|taste|feel) of)"
    r"|want to (?:have|get|be|see|go to|do|live|run|open|own|start|work) .*\b(?:by|before|this year|next year"
    r"|someday|one day|when i|before i)\b"
    r"|have always (?:wanted|been|had|dreamed|loved|hated)|(?:was|were) (?:raised|born|brought up)|can never"
    r"|could never|never (?:learned|learnt|finished|went|had|owned|been|got))\b.{3,}",
    re.IGNORECASE,
)
_AROUND: Final = re.compile(
    r"^(?:they|there|someone|somebody) (?:are|is|was|were|has|have|just)\b.{3,40}\b(?:at|in|near|next to"
    r"|on) (?:my|our) (?:company|work|office|school|building|neighbou?rhood|street|house|apartment|town|job"
    r"|team|block|place)\b.{0,30}$",
    re.IGNORECASE,
)
_PROMISED: Final = re.compile(
    r"^i(?: have|'ve)? promised (?:my (?:[\w-]+ ){0,2}\w+|[A-Z]\w+)(?: that)? (?P<who>i|we)(?:'d|'ll| would"
    r"| will) (?P<what>.{4,60})$",
    re.IGNORECASE,
)
_YOU: Final = re.compile(r"\b(?:you|your|it|this|that)\b", re.IGNORECASE)
_DOING: Final = re.compile(r"^am (?!not )(?:\w+ )?\w+ing\b")
_TALK: Final = re.compile(r"\b(?:chat|chatting|talk|talking|you)\b", re.IGNORECASE)
_CONCRETE: Final = re.compile(
    r"\b(?:my|our) [a-z]|[a-z,] [A-Z][a-z]|\d|\bleft-handed\b|\b[a-z]{2,12}ed (?:a|an"
    r"|the|all|two|three|my|our|out)\b"
)
_LEISURELY: Final = re.compile(
    r"^(?:like|love|enjoy|hate|prefer|can not stand) (?:(?!hearing|talking|chatting|seeing|knowing|being|having"
    r"|hear|thinking)\w+ing|to (?!hear|know|see|talk|think|say|be\b)\w+) .+"
)
_BROKE: Final = re.compile(
    r"^(?:(?:the|our|my) (?!kids))?(?:laptop|phone|car|truck|landlord|roommate|boss|husband|hubby|wife|kids|dog"
    r"|cat|baby|rent|wifi|furnace|fridge|dishwasher|washing machine|basement|roof|bike|ac|heating) "
    r"(?:is|has|was|died|broke|quit|crashed|flooded|leaked|got|went|passed|had|keeps?|just|finally|won't"
    r"|will not|does not|goes) (?!so\b|really\b|very\b|cute|adorable|great).{3,}$",
    re.IGNORECASE,
)
_IS_MY: Final = re.compile(
    r"^(?!it\b|that\b|this\b|he\b|she\b)[A-Za-z][\w' -]{2,30}? (?:is|are)(?: not|n't) my (?:strong (?:suit"
    r"|point)|forte|thing|first language|cup of tea|style|scene)\b.{0,20}$"
    r"|^[A-Z][a-z]+ is my (?:first|second|third|native) language$",
    re.IGNORECASE,
)
_WRECKS: Final = re.compile(
    r"^(?P<what>[A-Za-z][\w' -]{2,30}?) (?:really |always |absolutely )?(?:wrecks|kills"
    r"|destroys|knocks out|gets to) me\b.{0,30}$",
    re.IGNORECASE,
)
_BEST: Final = re.compile(r"^(?:makes|bakes|cooks) .{3,}$")
_ANY: Final = re.compile(
    r"\b(?:this|that|it|you|he|she|they|who|what|which|something|nothing|everything|movie|thought|idea|joke"
    r"|question)\b",
    re.IGNORECASE,
)
_MORE_THAN: Final = re.compile(
    r"^there is nothing (?:(?:that )?i (?:love|like|enjoy)|better) (?:more )?than (?P<what>(?!that\b|this\b"
    r"|you\b|it\b).{3,60})$",
    re.IGNORECASE,
)
_OUT_OF: Final = re.compile(
    r"^(?:there (?:are|is) (?:just |only )?(?:\d{1,4}|two|three|four|five|six|seven|eight) of us|it (?:took"
    r"|has taken) me .{5,}"
    r"|(?:it|this) (?:has been|will be|is) (?:my|our) (?:first|second|third|fourth|fifth|last|final"
    r"|\d{1,3}(?:st|nd|rd|th)) .{3,}"
    r"|it (?:has been|is) (?:almost |nearly |over |about )?(?:\d{1,4}|a|one|two|three|four|five|six|seven|eight"
    r"|ten|twelve) (?:days?|weeks?|months?|years?) since (?:i|we|my)\b.{3,})",
    re.IGNORECASE,
)
_GOAL: Final = re.compile(
    r"^(?:my|our) (?:(?:main|biggest|big|new year'?s|only|ultimate|lifelong|current|next) )*(?:goal|dream"
    r"|signature dish|specialty|dream job|plan|resolution|aim|target|wish|fear|biggest fear|weakness|strength"
    r"|routine|allergy|allergies|sign|star sign|major|minor"
    r"|specialty|speciality|diagnosis|nickname|go-to [\w ]{2,20}?|usual [\w ]{2,20}?|comfort food"
    r"|guilty pleasure|pet peeve|day off|days off|lease|contract|due date|flight|interview|exam|finals|surgery"
    r"|appointment)"
    r"(?: (?:this|for|in|right)\b[^,]{2,20}?)? (?:is|are|was|has|starts?|ends?|begins?|expires?)\b.{3,}",
    re.IGNORECASE,
)
_RELATIVE: Final = (
    rf"(?:{FAMILY}|{FRIENDS}|{KNOWN}|{PETS}|parents|folks|grandparents|in-laws|kids|children"
    rf"|sons|daughters|sisters|brothers|siblings|cats|dogs|twins|family|ex|ex-\w+|team|company|job|school"
    rf"|friends|roommates|neighbou?rs|nephews|nieces|cousins|husband|wife)"
)
_MINE: Final = re.compile(
    rf"^(?:my|our) (?:(?:new|old|own|late|youngest|oldest|eldest|younger|older|little|big|best|good|close|great"
    rf"|first|second|third|two|three|four|ex|twin|whole|entire|current|last) )*(?:{_RELATIVE})(?:'s)?"
    r"(?: [A-Z]\w+)?,? (?P<does>(?!and i\b|and me\b).{5,})$",
    re.IGNORECASE,
)
_MY_BODY: Final = re.compile(
    r"^my (?:(?:left|right|lower|upper|old|bad|new) )*(?:back|neck|knees?|shoulders?|hips?|wrists?|ankles?"
    r"|eyes?|eyesight|hearing|stomach|skin|hair|teeth|feet|foot|heart|lungs|liver|sinuses|blood pressure"
    r"|blood sugar|cholesterol|iron|thyroid|vision|memory|joints|doctor)"
    r"(?:'s| is| are| has| have| hurts?| aches?| gets?| goes| went| gave)\b .{0,40}$",
    re.IGNORECASE,
)
_BARE: Final = re.compile(
    r"^(?P<who>Mom|Mum|Dad|Grandma|Grandpa|Granny|Nana|Nan|Mama|Papa|Gran|The (?:kids|twins|baby|dog|cat|boys"
    r"|girls|wife|husband|hubby|kiddo|puppy|kitten|cats|dogs))(?:'s)? (?P<does>(?!and i\b).{4,})$"
)
_KNOWS_ME: Final = re.compile(
    r"^(?P<who>[A-Z][a-z]{1,14}) (?:still |always |just |finally |recently )*(?:owes me|borrowed|lent me"
    r"|introduced me|taught me|proposed|dumped me|broke up with me|cheated on me|got me|gave me|lives with me"
    r"|moved in|works with me|is my"
    r"|chewed|peed|pooped|scratched|ate my|barked|knocked|threw up|escaped|ran away|bit)\b.{3,}$"
)
_NO_NAME: Final = re.compile(
    r"(?:The|This|That|It|He|She|They|We|You|What|Who|Everyone|Everybody"
    r"|Someone|Somebody|People|Nobody|There|Here|And|But|So|Just|Also|Life|Work|School|God|Google|Nothing"
    r"|Something|Yes|No|Well|Alexa|Siri)"
)
_NO_DOES: Final = re.compile(
    r"^(?:is|are|was|were)? ?(?:so|very|really|too|such|just|being|the best|amazing|awesome|great|annoying"
    r"|funny|nice|cute|weird|crazy|fine|okay|ok|here|wrong|right|cool|adorable|mad|upset|a joke)\b"
    r"|^(?:says?|said|told|thinks?|keeps? (?:saying|telling|asking)|wants?(?! to \w+ (?:a|an|his|her|their|at"
    r"|in|to))|looks?|seems?|feels?|asked|agrees?|loves? (?:me|it)|will|would|could|should|might)\b",
    re.IGNORECASE,
)
_REGULARLY: Final = re.compile(
    r"\b(?:never|always|every|each|usually|often|rarely|twice|once a|since|for (?:\d{1,4}|a|two|three|four|five"
    r"|six|ten|about|over|almost|years|months)|years?|months?|weeks?|last|next|tonight|tomorrow|yesterday"
    r"|christmas|easter|thanksgiving|on the \d{1,2}(?:st|nd|rd|th)|this (?:summer|spring|autumn|fall"
    r"|winter|term|semester)|in (?:\d{4}|january|february|march|april|may|june|july|august|september"
    r"|october|november|december"
    r"|high school|college)|before|after|back in|until|till|\d{1,4})\b",
    re.IGNORECASE,
)
_AILMENT: Final = re.compile(
    r"^(?:my )?(?:hay ?fever|asthma|eczema|migraines?|ibs|arthritis|sciatica|tinnitus|insomnia|anxiety"
    r"|adhd|allergies|reflux)(?:'s| is| are| has| have| gets?| acts?)\b .{3,40}$",
    re.IGNORECASE,
)
_OFTEN: Final = re.compile(r"\b(?:always|never|usually|often|rarely|mostly|sometimes)\b")
_VERB: Final = re.compile(
    r"^(?![a-z]+ly\b)(?:am|was|were|have|had|used|can not|do not|never|will|[a-z]{2,12}ed"
    r"|[a-z]{3,12})\b",
    re.IGNORECASE,
)


def topics(clause: Clause) -> Iterator[Finding]:
    """Yield what a clause in which nothing else was found tells of the user or theirs, in its words; at most one."""
    text = clause.text
    if not _SHORTEST <= len(text.split()) <= _LONGEST or _MOMENT.search(text):
        return
    if clause.subject == "other":
        yield from _of_others(text, clause)
        return
    if (m := _DO.match(clause.core)) and clause.subject == "me":
        what = m["what"].lower()
        yield profile("occupation", what, f"User does {what}{m['tail']}")
    elif (m := _KNOWS.match(clause.core)) and clause.subject == "me":
        yield profile("skills", m["what"], f"User knows some {m['what']}")
    elif _is_told(clause):
        yield Finding(content=third_person(clause))


def context(clause: Clause) -> str | None:
    """Return what a clause of the user's adds to what was told before it in the sentence, or None."""
    text = clause.text
    if _AGED.fullmatch(text):
        return text
    if not 1 < len(text.split()) <= _LONGEST or _NO_CONTEXT.search(text):
        return None
    if clause.subject != "other":
        return third_person(clause)
    if len(text.split()) > _MOST_APPOSED or _NO_APPOSITION.search(text):
        return None
    return re.sub(r"\b(?:I|me)\b", "user", re.sub(r"(?i)\b(?:my|our)\b", "their", text))


_ONE_AGED: Final = r"[A-Z][a-z]+,? (?:who's|who is|is|aged|at) (?:\d{1,2}|[a-z]{3,9})"
_AGED: Final = re.compile(rf"{_ONE_AGED}(?:,? and {_ONE_AGED})?")
"""Names with an age, put beside whom they name: two kids, Leo who's six and Mia who's nine."""
_MOST_APPOSED: Final = 9
"""Words of what is put beside a clause."""
_NO_APPOSITION: Final = re.compile(
    r"\b(?:you|your|he|she|they|this|that|these|those|what|who|why|how|where|let's|ok|okay|yes|yeah|no worries"
    r"|wow|omg)\b"
    r"|^(?:it|there) (?:is|was|has) (?:so|very|really|too|just|raining|snowing|cold|hot|great|fun|weird|awful"
    r"|crazy|nice|bad|good|hard|fine|over|late)\b"
    r"|^(?:help|give|tell|show|write|make|find|suggest|recommend|explain|any|can|could|would|should|do|does|is"
    r"|are|please)\b",
    re.IGNORECASE,
)


def plainly(clause: Clause) -> Iterator[Finding]:
    """Yield what a clause says of the user where nothing was found in its sentence, unless it is of the moment."""
    core = clause.core
    if clause.subject == "other":
        m = _MY_ANY.match(clause.text)
        if (
            m
            and not _NO_DOES.match(m["does"])
            and not _TO_LISTENER.search(clause.text)
            and not _OF_TALK.match(m["what"])
        ):
            yield Finding(content=third_person(clause))
        return
    words = len(core.split())
    if not _FEWEST <= words <= _LONGEST or _PASSES.match(core) or _TO_LISTENER.search(core) or _MOMENTARY.match(core):
        return
    if "almost" in clause.adverbs or any(map(left_work, clause.rest)):
        return
    yield Finding(content=third_person(clause))


_FEWEST: Final = 3
"""Words of a predicate that says something."""
_TO_LISTENER: Final = re.compile(
    r"\b(?:you|your|yours|lol|haha|hmm|it|this|that|these|those|thing|things|stuff|something|anything|nothing"
    r"|everything|here|there|second one)\b",
    re.IGNORECASE,
)
_MOMENTARY: Final = re.compile(
    r"^.*\b(?:right now|just now)$|^(?:am|are|was) (?:on (?:it|the (?:bus|train|way|phone|toilet"
    r"|sofa|couch|tube))|dying|dead|screaming"
    r"|crying|laughing|done|in|out|off|not|going|about|just|an? (?:robot|detective|bot"
    r"|human|king|queen|wizard|ghost|cat|dog|genius|idiot|mess|wreck|fool|god|goddess|legend|star|potato|zombie"
    r"|joke|disaster|failure|level)"
    r"|so|too|very|really|looking for (?:an?|the|some) (?:good|new|nice)?|wondering|writing (?:a|an|the"
    r"|this) (?:story|poem|speech|essay|email|letter)|working on|trying)\b|^was (?:wondering|thinking|talking"
    r"|looking|going|just)\b|^(?:did|do|does|was|were|have|had) not\b(?! (?:own|have an?|eat|drink|smoke|drive"
    r"|believe in|speak|finish|go to|graduate|vote|"
    r"celebrate|wear|use|work|sleep|watch))|^(?:have )?(?:told|said|asked|heard|read|seen|got|gone|been (?:at"
    r"|told|thinking|there|waiting|trying))\b"
    r"|^(?:got|get|saw|need|want|think|know|mean|hope|feel|just|let|see|keep|tried|try|look|ask|say|give|call"
    r"|come|put|pick|choose)\b"
    r"|^(?:can|could|should|must|will|would|may|might|shall)\b",
    re.IGNORECASE,
)
_MY_ANY: Final = re.compile(
    r"^(?:(?:half|most|some|all|both|one|two|three) of )?(?:my|our) (?P<what>[\w' -]{2,30}?) (?P<does>(?:is|are"
    r"|was|has|had|got|just|won't|does not|never"
    r"|[a-z]{3,12}s|[a-z]{3,12}ed)\b.{3,})$",
    re.IGNORECASE,
)
_OF_TALK: Final = re.compile(
    r"^(?:[\w-]+'s |head$|essay|story|speech|question|point|problem|answer|guess|bad|fault|mistake|idea|thought"
    r"|favou?rite part|computer|screen|browser|code|file|input|prompt|character"
    r"|name in|god|goodness|friend's|colleague's|boss's|neighbou?r's|coworker's|phone|battery|wifi|connection|turn)\b",
    re.IGNORECASE,
)


_NO_CONTEXT: Final = re.compile(
    r"\b(?:you|your|thanks?|sorry|lol|haha|kidding|guess|think|mean|know|wonder|question|help|please)\b", re.IGNORECASE
)


def promised(said: str) -> Iterator[Finding]:
    """Yield what the user promised somebody: its "would" makes `claims` leave it out."""
    if m := _PROMISED.match(said):
        told = re.sub(r"(?i)^i(?: have|'ve)?", "User", said[: m.start("who")])
        content = re.sub(r"(?i)\b(?:my|our)\b", "their", f"{told}they would {m['what']}")
        yield Finding(content=re.sub(r"\b(?:I|me)\b", "user", content))


def _is_told(clause: Clause) -> bool:
    core = clause.core
    if _PLAINLY.match(core if "never" not in clause.adverbs else f"never {core}") and not _YOU.search(core):
        return True
    if _LEISURELY.match(core) and not _POINTS.search(core):
        return True
    if _POINTS.search(core) or _PASSES.match(core):
        return False
    if (
        (_DOING.match(core) and not _REGULARLY.search(core))
        or "almost" in clause.adverbs
        or any(map(left_work, clause.rest))
    ):
        return False
    known = _TOPIC.search(core) or _CONCRETE.search(core) or _REGULARLY.search(core) or _OFTEN.search(clause.adverbs)
    return known is not None and _VERB.match(core) is not None


def _of_others(text: str, clause: Clause) -> Iterator[Finding]:
    if m := _MORE_THAN.match(text):
        yield from (profile("likes", thing, f"User likes {thing}") for thing in things(m["what"]) or [m["what"]])
    elif (m := _WORN.match(text) or _TASTES.match(text)) and not _ANY.search(m["what"]):
        what = m["what"]
        yield profile("dislikes", what.lower(), third_person(clause))
    elif (
        (_OUT_OF.match(text) and not _TALK.search(text))
        or _AROUND.match(text)
        or _AILMENT.match(text)
        or _IS_MY.match(text)
        or ((m := _WRECKS.match(text)) and not _ANY.search(m["what"]))
        or (_BROKE.match(text) and not _POINTS.search(text))
        or ((_GOAL.match(text) or _MY_BODY.match(text)) and not _POINTS.search(text))
    ):
        yield Finding(content=third_person(clause))
    elif (m := _MINE.match(text)) and not _NO_DOES.match(m["does"]) and not _POINTS.search(m["does"]):
        if _BEST.match(m["does"]) or _TOPIC.search(m["does"]) or _REGULARLY.search(m["does"]):
            yield Finding(content=third_person(clause), category="people")
    elif (m := _BARE.match(text)) and not _NO_DOES.match(m["does"]) and not _POINTS.search(m["does"]):
        who = re.sub(r"(?i)^the ", "", m["who"])
        yield Finding(
            content=f"User's {who[0].lower()}{text[m.start('who') + len(m['who']) - len(who) + 1 :]}", category="people"
        )
    elif (m := _KNOWS_ME.match(text)) and not _NO_NAME.fullmatch(m["who"]) and not _POINTS.search(text):
        yield Finding(content=third_person(clause), category="people")
