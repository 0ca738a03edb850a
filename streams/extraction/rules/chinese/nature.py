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
    r"|倔强|随和|社恐|[倔犟]|固执|直爽|直率|豪爽|大大咧咧|佛系|佛|闷|木讷|胆小|好强|要强|慢性子|直性子"
    r"|暴脾气|老好人|话痨|热心肠?|谨慎|较真|健忘|腼腆|宅|懒散?|粗线条|多愁善感|心软|嘴硬|毒舌"
    r"|完美主义者|悲观主义者|乐观主义者|理想主义者|I人|[iIeE]人|[IE][NS][TF][JP](?:-[AT])?|[iex]n[ft][jp]"
    r"|强迫症|拖延症?|选择困难症?|洁癖|社牛|玻璃心|路痴|脸盲|恋爱脑|工作狂|颜控|夜猫子|讨好型人格?|高敏感)"
)
_TRAITS = re.compile(
    r"^(?:就)?(?:是|属于|性格|有)?(?:一?个|那种|典型的?)?(?:很|比较|非常|特别|有点儿?|挺|蛮|偏|太|最|超级?"
    r"|一?点儿?|些|轻微|严重|重度|典型的?|天生)*"
    rf"((?:{_TRAIT}[又和、且而]*(?:很|比较)?)+)(?:的人|的性格|型|型的人|患者|晚期|晚期患者|的)?$"
)
_TEMPER = re.compile(
    r"^(?P<what>性子|脾气|性格|个性|胆子|脸皮|心思|心肠|说话|嘴|嗓门|记性|方向感|自尊心|好胜心|防备心"
    r"|控制欲|耐心|适应能力|动手能力)"
    r"(?:也|就|都|比较|有点儿?|很|太|特别|非常|挺|蛮|真的?|超级?|一直|天生|一向)*(?P<how>急|慢|直|爆|暴躁?"
    r"|火爆|好|坏|差|倔|犟|大|小|厚|薄|细|粗|软|硬|快|冲|毒|笨|强|弱|怪|古怪|温和|随和|开朗|内向|外向|安静"
    r"|孤僻)(?:的)?$"
)
"""What of one's temper is how: 性子急, 说话直."""
_REPUTED = re.compile(
    r"^(?:朋友们?|大家|别人|家里?人|同事们?|同学们?|身边的?人|我[爸妈]|爸妈|老婆|老公)(?:都|总|老|常"
    r"|经常)*(?:说|觉得)我(?P<how>.{1,10})$"
)
_TONGUE = re.compile(r"^我的?母语是([一-鿿]{1,6}[语话文])")
_WHERE: Final = (
    r"(?:微信|QQ|邮箱|邮件|微博|手机|电话|抖音|快手|小红书|知乎|豆瓣|[Bb]站|支付宝|淘宝|公众号|推特|飞书"
    r"|钉钉|领英|游戏|王者|原神|github|gitee|gmail|twitter|ins|instagram"
    r"|telegram|discord|steam|psn|line|skype|linkedin|facebook|tiktok|youtube)"
)
_TELEPHONE: Final = r"\+?\d(?:[ -]?\d){6,14}"
_GIVEN: Final = rf"(?P<account>{_TELEPHONE}|[A-Za-z0-9_@.+-]{{4,40}})"
_ACCOUNT = re.compile(
    rf"^(?P<my>我的?|本人)?(?P<new>现在|新)?(?P<which>常用|工作|个人)?的?(?P<where>{_WHERE})(?P<kind>账?号码?|账户|ID|用户名"
    r"|昵称|尾号|地址|名字?)?(?:刚刚?|已经|最近|上周|昨天|今天)?(?P<now>现在)?(?:(?P<to>[换改变]成了?|[换改]为了?)|[是叫用：:\s]{0,3})"
    rf"\s?{_GIVEN}(?(to)了?)$",
    re.IGNORECASE,
)
_LABEL = re.compile(rf"^(?:我的?)?(?P<where>{_WHERE})(?:账?号|账户|ID|用户名|昵称|地址)$", re.IGNORECASE)
_CHANGED = re.compile(
    rf"^我的?(?P<where>{_WHERE})(?:账?号码?|ID|地址)?(?:刚|已经|前几天|上周|最近)*(?:换|改)(?:了|新的?|号了){{1,3}}$"
    rf"|^我?(?:刚刚?|已经|前几天|上周|最近|昨天|今天){{0,2}}[换改]了?(?:个?新的?)?(?:(?P<also>{_WHERE})(?:账?号码?|ID|地址)?|号码?)了?$",
    re.IGNORECASE,
)
_NEW_ONE = re.compile(
    r"^(?:新的?|现在的?)?(?:手机|电话|微信|QQ)?(?:账?号码?|地址|邮箱|尾号)?(?:换成|改成|现在)?(?P<tail>尾号)?(?:是|用"
    rf"|叫)?[：:\s]*(?:尾号是?)?{_GIVEN}$"
)
_IS_TELEPHONE: Final = re.compile(_TELEPHONE)
_TELEPHONES: Final = ("手机", "电话")
_AT_HOME = re.compile(
    r"^我(?:们?家)?的?(?P<new>新)?的?(?P<what>(?:家庭|收货|收件|通讯|邮寄)?(?:地址|住址))(?P<now>现在)?(?:是|在|(?P<to>[换改变]成了?|[换改]为了?))"
    r"[：:\s]?(?P<at>(?!什么|哪)(?=[^，]{0,36}(?:路|街|道|号|弄|栋|楼|室|小区|村|镇|大厦|花园))[^，]{4,40}?)(?(to)了?)$"
)
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
    if clause.mine and not clause.past and (m := _TEMPER.match(without_particles(clause.core))):
        yield profile("personality_traits", f"{m['what']}{m['how']}", f"用户{m['what']}{m['how']}")
    if m := _TONGUE.match(clause.text):
        yield profile("language", m[1], f"用户的母语是{m[1]}")
    yield from _accounts(clause)


def _accounts(clause: Clause) -> Iterator[Finding]:
    """Yield an account that is named, or the new one that the next clause names: 我邮箱换了，新的是…."""
    m = _ACCOUNT.match(clause.text)
    if m and (m["my"] or m["kind"]) and (m["kind"] == "尾号" or _is_account(m["where"], m["account"])):
        changed = any(map(_CHANGED.match, clause.before[-1:]))
        yield _account(
            m["where"], m["account"], anew=not m["which"] and bool(m["new"] or m["now"] or m["to"] or changed)
        )
    elif (m := _LABEL.match(clause.text)) and clause.rest and (new := _NEW_ONE.match(clause.rest[0])):
        yield _account(m["where"], new["account"])
    elif (m := _CHANGED.match(clause.text)) and clause.rest and (new := _NEW_ONE.match(clause.rest[0])):
        where = m["where"] or m["also"] or "手机"
        if new["tail"] or _is_account(where, new["account"]):
            yield _account(where, new["account"], anew=True)
    elif m := _AT_HOME.match(clause.text):
        yield _account(m["what"], m["at"], anew=bool(m["new"] or m["now"] or m["to"]))


def _is_account(where: str, said: str) -> bool:
    """Return whether what is named may be an account: 我的手机是iPhone15 names a thing."""
    return where not in _TELEPHONES or _IS_TELEPHONE.fullmatch(said) is not None


def _account(where: str, account: str, *, anew: bool = False) -> Finding:
    """Return an account; one that was given anew says so, which ends the one before it."""
    return profile("accounts", f"{where}: {account}", f"用户的{where}{'换成了' if anew else '是'}{account}")


def reputed(said: str) -> Iterator[Finding]:
    """Yield a trait that others say of the user, who repeats it: 朋友都说我太老好人."""
    named = _REPUTED.match(without_particles(said))
    if named and (m := _TRAITS.match(named["how"])) and re.fullmatch(_TRAIT, m[1]):
        yield profile("personality_traits", m[1], f"用户性格{m[1]}")


def avoided(said: str) -> Iterator[Finding]:
    """Yield a topic that a clause asks never to speak of: a request, which `claims` leaves out."""
    if m := _AVOIDED.match(said):
        topic = re.sub(r"^我的?", "", m[1])
        yield profile("sensitive_topics", topic, f"用户不想谈{topic}")
