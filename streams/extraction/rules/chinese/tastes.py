"""Chinese statements about tastes: likes, dislikes and interests.

The value is the thing itself: 喜欢咖啡, 喜欢喝咖啡 and 爱喝咖啡 all give 咖啡, because 喝 and 吃 say nothing that
the thing does not; every other verb stays (看电影, 听周杰伦的歌).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from streams.extraction.rules.chinese.clauses import without_particles
from streams.extraction.rules.finding import Finding, profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.chinese.clauses import Clause

_LIKES = re.compile(
    r"^(?:是|就是|又(?:开始)?)?(?:喜欢|喜爱|热爱|钟爱|偏爱|酷爱"
    r"|爱(?=[吃喝看听玩去跑打唱跳做逛读写骑爬旅运游钓拍画养]))(?:上了)?(.+)$"
)
_FAVOURITE = re.compile(r"^我?(?:最)?(?:喜欢|爱)(?:吃|喝|看|听|玩)?的(?:(?!不)[一-鿿]){0,4}(?:就?是)(.+)$")
_DISLIKES = re.compile(r"^(?:不(?:太|是很|怎么|大|再)?(?:喜欢|爱)|讨厌|厌恶|反感|受不了|烦(?!死|人$|躁|恼|我))(.+)$")
_LEAST = re.compile(r"^(?:不喜欢|讨厌|不爱)(?:吃|喝|看|听)?的(?:(?!不)[一-鿿]){0,4}就?是(.+)$")
_AVOIDS = re.compile(r"^(?:不|从不|从来不)(?:吃|喝)((?!早|午|晚|饭|下|起|完|到|了|上|惯).{1,6})$")
_CANNOT_BEAR = re.compile(
    r"^(.{2,10}?)(?:的味道|的声音)?(?:我)?(?:可|是|也|实在|真的|完全|根本|一点都|一口都)*(?:受不了|(?:吃"
    r"|喝|闻|看|听)不(?:了|惯|下去|来)|(?:吃|喝|碰)都不(?:吃|喝|碰))$"
)
_WORST = re.compile(r"^(.{2,8})是我(?:唯一|最)(?:咽不下去?|吃不了|受不了|讨厌|不喜欢|接受不了)的.{0,4}$")
_FAN_OF = re.compile(
    r"^是(.{2,10})的(?:忠实|铁杆|死忠|资深|超级|十年|多年|骨灰级)?(?:铁粉|老粉|真爱粉|脑残粉|唯粉|事业粉"
    r"|粉丝?|死忠粉|死忠|迷妹|迷弟|影迷|歌迷|书迷|球迷)$"
)
_IDOL = re.compile(r"^(?:我的?)?(?:担|本命|爱豆|偶像|男神|女神|主队|最爱|最爱的)(?:一直|永远|就|还)*是(.{2,12})$")
_MY_BEST = re.compile(r"^(.{1,10}?)(?:一直|永远|绝对)*(?:就?是)我的(?:最爱|心头好|菜|快乐源泉|白月光)$")
_NOT_WITHOUT = re.compile(r"^无(.{1,3})不(?:欢|行|能活)$")
_NO_DEFENCE = re.compile(r"^对(.{1,8}?)(?:完全|毫|实在|根本)?(?:没有?|无)(?:任何)?抵抗力$")
_COLD_TO = re.compile(r"^对(.{1,8}?)(?:完全|实在|一直|真的)*(?:无感|不感冒|没(?:什么)?兴趣|不感兴趣|提不起兴趣)$")
_REPLIES = re.compile(
    r"^(?:比较|更)?(?:喜欢|偏好|偏爱|想要|希望)(?:收到|得到|看到|你)?(?:的?(?:回复|回答|说话|解释)(?:能"
    r"|可以|要)?)?(?P<style>(?:更|比较"
    r"|很)?(?:简短|简洁|简单|详细|直接|正式"
    r"|轻松|幽默|口语化|温柔|有条理|活泼|啰嗦|精简)(?:一?点儿?|一?些)?)(?:的)?(?:回复|回答|解释|说明|表达|风格|方式|$)"
)
_REPLY_SO = re.compile(
    r"^(?:请|以后|今后|麻烦|拜托|希望|能不能|你)*(?:的)?(?:[跟和对给]我)?(?:聊天|回复|回答|回|答|说话|说|讲"
    r"|解释)我?(?:的时候|时|内容|问题)?(?:请|要|得|可以|能|最好|尽量|都|就)*"
    r"(?P<style>(?:更|比较)?(?:简短|简洁|简单|短|详细|直接|直白|正式|轻松|幽默|活泼|温柔|随意|口语化|精简"
    r"|通俗|委婉|严肃))(?:一?点儿?|一?些)"
)
_REPLY_IN = re.compile(
    r"^(?:请|以后|今后|麻烦|都|统一|你)*(?:[跟和对给]我)?(?:聊天|回复|回答|回|说话|交流"
    r"|讲)我?(?:的时候)?(?:请|都|就|最好|尽量|统一)*(?:用|说|讲)(?P<style>[英中日法德韩俄粤]文"
    r"|[英中日法德韩俄汉粤]语|普通话|大白话|白话|敬语|文言文|方言|口语|列表|表格|例子|比喻)"
    r"(?:吧|回复|回答|说|交流|就行|就好|跟我说|来)*$"
)
_TALK_IN = re.compile(
    r"^(?:请|以后|今后|麻烦|你|可以|能|就)*用(?P<style>[英中日法德韩俄粤]文|[英中日法德韩俄汉粤]语|普通话"
    r"|大白话)[跟和]我(?:聊天?|说话?|讲|交流|沟通)(?:吧|就行|就好)*$"
)
_REPLY_NOT = re.compile(
    r"^(?:请|以后|今后|麻烦|你|能不能|可不可以|拜托)*(?:说话|回答|回复|聊天)?(?:别|不要|不用|少"
    r"|不准)(?P<style>(?:再|老是?|总是?|动不动就|每次都)?(?:[跟和对给]我)?(?:讲|说|整|发|用|来|加|带|那么"
    r"|这么|太)?(?:这么|那么|那些|那种|什么)?"
    r"(?:长篇大论|长篇|大道理|道理|废话|套话|客套话?|官话|官腔|空话|鸡汤|说教|教育我|啰嗦|啰里啰嗦|绕弯子"
    r"|兜圈子|客气|正式|表情(?:符号|包)?|颜文字|emoji|敬语|您|道歉|术语|专业术语|专业名词|英文"
    r"|机翻腔))(?:了|吧|的话)?$"
)
_TO_THE_POINT = re.compile(
    r"^(?:请|以后|今后|你|就)*(?:尽量|最好|有(?:什么)?话)?(?P<style>直接(?:说|给|讲|上)(?:怎么做|结论|重点"
    r"|答案|结果|干货|步骤)?|先(?:说|给)(?:结论|重点|答案)|(?:只)?说重点|说人话|有话直说|分点(?:说|列出来"
    r"|回答)?|列点(?:说)?)(?:就行|就好|即可|吧)*$"
)
_HOBBY = re.compile(r"^(?:我的?)?(?:业余|兴趣)?(?:爱好|兴趣|兴趣爱好)(?:就?是|包括|有)(.+)$")
_MY_HOBBY = re.compile(r"^我的(?:兴趣)?(?:爱好|兴趣)(?:是|包括)(.+)$")
_INTERESTED = re.compile(r"^对(.{1,12}?)(?:很|非常|特别|超级|比较|挺|更|也|一直)*(?:感兴趣|有兴趣|着迷|很感兴趣)$")
_FOLLOWS = re.compile(r"^(?:一直|长期|经常|平时)*关注(?![了过到的])(.+)$")
_HOOKED = re.compile(r"^(?:迷上|爱上|痴迷于?|沉迷于?)了?(.+)$")
_THING = re.compile(r"[一-鿿A-Za-z0-9《》·\- ]{1,16}")
_TOO_VAGUE = re.compile(
    r"^(?:你|您|他|她|它|这|那|得|上|谁|什么|被|就|也|可以|有人|一个人$|某|我|自己|死|的|着|过|到|和你|"
    r"跟你|大家|东西$|人$|说$|事$|吃$|喝$|看$|听$|玩$|"
    r"歌$|书$|感觉$|样子$|方式$)|(?:你|您|他|她|它|这样|那样|我|[不而]是|[这那](?:一点|点|件?事))"
)
_CONSUMED = re.compile(r"^[喝吃](?!饭$|东西|货|亏|苦|醋|药)(?=.)")
_AND = re.compile(r"、|(?<=.)(?:和|以及|还有|跟)(?=.)")
_RATHER_THAN: Final = re.compile(r"(?:而不是|而非).+$")
_WHENEVER: Final = re.compile(
    r"^(?:在?(?:周末|平时|假期|放假|早上|清晨|早晨|中午|午后|傍晚|晚上|夜里|深夜|半夜|下班后?|饭后|睡前"
    r"|闲暇时?|空闲时?|有空|没事)"
    r"(?:的?时候)?)[去来]?(?=[一-鿿A-Za-z]{2})(?![的里是和])"
)
"""When something is liked, which is no part of the thing: 周末去爬山 is 爬山, and 早上的阳光 stays."""
_OF_KIN: Final = re.compile(
    r"^我(?:妈妈?|爸爸?|奶奶|外婆|姥姥|爷爷|外公|老婆|老公|婆婆|丈母娘|姐|哥)(?:做|煮|包|炒|烧|炖|腌"
    r"|烤)的(?=[一-鿿]{2})"
)
"""Whose dish is liked: 我妈做的红烧肉 is 红烧肉."""
_DEGREE: Final = re.compile(r"^(?:更|最|很|非常|特别)+")


def things(text: str) -> list[str]:
    """Split an object into the things it names, without particles; [] where it names nothing that can be kept."""
    bare = without_particles(text.strip())
    parts = [bare] if re.match(r"[和跟与在]", bare) else _AND.split(bare)
    found = []
    for part in parts:
        thing = without_particles(_CONSUMED.sub("", part.strip()))
        # One part that names nothing shows that the whole was cut wrongly.
        if not _THING.fullmatch(thing) or _TOO_VAGUE.search(thing):
            return []
        found.append(thing)
    # 晴朗、温暖的天气: the parts are what the thing is like, not things.
    return [] if "、" in bare and "的" in found[-1] and "的" not in found[0] else found


def tastes(clause: Clause) -> Iterator[Finding]:
    """Yield likes, dislikes and interests. What was liked once, or is liked by somebody else, is left out."""
    bare = _DEGREE.sub("", without_particles(clause.core))
    if m := _IDOL.match(bare) or _MY_BEST.match(without_particles(clause.text)):
        yield from _each("likes", "用户喜欢", m[1])
    elif m := _WORST.match(without_particles(clause.text)):
        yield from _each("dislikes", "用户不喜欢", m[1])
    elif m := _MY_HOBBY.match(bare):
        yield from (_interest(thing) for thing in things(m[1]))
    elif clause.mine and not clause.past:
        yield from _likes(bare, clause)


def replies(said: str) -> Iterator[Finding]:
    """Yield how a clause asks to be answered: a request, which `claims` leaves out."""
    if m := _REPLY_SO.match(said) or _REPLY_IN.match(said) or _TALK_IN.match(said):
        yield _style(m["style"])
    elif m := _REPLY_NOT.match(said):
        yield profile("communication_style", f"不要{m['style']}", f"用户希望不要{m['style'].replace('我', '用户')}")
    elif m := _TO_THE_POINT.match(said):
        yield profile("communication_style", m["style"], f"用户希望{m['style']}")


def _style(style: str) -> Finding:
    plain = re.sub(r"^(?:更|比较|很)", "", style)
    return profile("communication_style", plain, f"用户偏好{plain}的回复")


def _likes(bare: str, clause: Clause) -> Iterator[Finding]:
    if m := _REPLIES.match(bare):
        if re.search(r"回复|回答|说话|解释|说明|表达", bare):
            yield _style(m["style"])
    elif m := _FAVOURITE.match(bare) or _LIKES.match(bare):
        yield from _each("likes", "用户喜欢", m[1], named=_OF_KIN.sub("", _WHENEVER.sub("", m[1])))
    elif (m := _LEAST.match(bare) or _DISLIKES.match(bare) or _cannot_bear(clause)) or (m := _COLD_TO.match(bare)):
        yield from _each("dislikes", "用户不喜欢", m[1])
    elif (m := _NOT_WITHOUT.match(bare) or _NO_DEFENCE.match(bare)) or (
        clause.subject == "me" and (m := _FAN_OF.match(bare))
    ):
        yield from _each("likes", "用户喜欢", m[1])
    elif m := _HOBBY.match(bare) or _INTERESTED.match(bare) or _FOLLOWS.match(bare) or _HOOKED.match(bare):
        yield from (_interest(thing) for thing in things(m[1]))


def _cannot_bear(clause: Clause) -> re.Match[str] | None:
    # 不吃了 is the end of a meal.
    if clause.subject == "me" and not clause.core.endswith("了") and (m := _AVOIDS.match(clause.core)):
        return m
    return _CANNOT_BEAR.match(clause.text.rstrip("啊呀啦"))


def _each(attribute: str, says: str, what: str, *, named: str | None = None) -> Iterator[Finding]:
    """Keep the verb in the content where one thing is named: 用户喜欢喝咖啡. `named` is what names the things."""
    what = _OF_KIN.sub("", _RATHER_THAN.sub("", what))
    found = things(_RATHER_THAN.sub("", named or what))
    for thing in found:
        yield profile(attribute, thing, f"{says}{without_particles(what) if len(found) == 1 else thing}")


def _interest(thing: str) -> Finding:
    return profile("interests", thing, f"用户对{thing}感兴趣")
