"""Chinese statements about character: traits, mother tongue, accounts, and topics to avoid."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from streams.extraction.rules.chinese.clauses import without_particles
from streams.extraction.rules.finding import profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.chinese.clauses import Clause
    from streams.extraction.rules.finding import Finding

_TRAIT: Final = (
    r"(?:内向|外向|敏感|乐观|悲观|开朗|害羞|慢热|急性子|固执|细心|粗心|独立|幽默|安静|自律|完美主义|感性|理性|温柔"
    r"|倔强|随和|社恐)"
)
_TRAITS = re.compile(
    r"^(?:是|属于|性格)?(?:一?个|那种)?(?:很|比较|非常|特别|有点|挺)*"
    rf"((?:{_TRAIT}[又和、且而]*(?:很|比较)?)+)(?:的人|的性格|的)?$"
)
_TONGUE = re.compile(r"^我的?母语是([一-鿿]{1,6}[语话文])")
_ACCOUNT = re.compile(r"^我的?(微信|QQ|qq|邮箱|微博|手机|电话|抖音|小红书)号?[是叫：:\s]{1,2}([A-Za-z0-9_@.+-]{4,40})$")
_AVOIDED = re.compile(
    r"^(?:请|以后|千万|拜托)*(?:(?:别|不要|不准)再?(?:[跟和对]我)?(?:提(?!醒|供|高|出|交|议)起?|说起|聊起?|谈起?)"
    r"|我(?:真的|现在)?(?:不想|不愿意?)再?(?:[跟和]你)?(?:提起?|聊起?|谈起?|说起))"
    r"(?:关于)?(?!这|那|了|你|它|他|她|我$|到)([一-鿿A-Za-z]{2,10}?)(?:的?(?:事情?|话题))?(?:了|吧|好吗|啊)*$"
)


def nature(clause: Clause) -> Iterator[Finding]:
    """Yield traits, mother tongue and accounts."""
    traits = _TRAITS.match(without_particles(clause.core)) if clause.subject == "me" and not clause.past else None
    for trait in re.split(r"[又和、且而]+", traits[1]) if traits else ():
        if re.fullmatch(_TRAIT, trait):
            yield profile("personality_traits", trait, f"用户性格{trait}")
    if m := _TONGUE.match(clause.text):
        yield profile("language", m[1], f"用户的母语是{m[1]}")
    if m := _ACCOUNT.match(clause.text):
        yield profile("accounts", f"{m[1]}: {m[2]}", f"用户的{m[1]}是{m[2]}")


def avoided(said: str) -> Iterator[Finding]:
    """Yield a topic that a clause asks never to speak of: a request, which `claims` leaves out."""
    if m := _AVOIDED.match(said):
        topic = re.sub(r"^我的?", "", m[1])
        yield profile("sensitive_topics", topic, f"用户不想谈{topic}")
