"""Chinese clauses: whom each speaks of, and whether it claims something. Every Chinese rule relies on it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from streams.extraction.rules.chinese.ellipsis import BEING, WHEN, restored
from streams.extraction.rules.sentences import MOST_AFTER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.sentences import Sentence

_FILLER = re.compile(
    r"^(?:(?:嗯+|啊|哦|噢|哈+(?!尔)|嘿|嗨|你好呀?|您好|对了|其实|不过|但是|但|然后|而且|另外|所以|因为|反正|"
    r"话说|说起来|顺便说一下|好的|好吧|是的|"
    r"没错|对(?=[，\s我啊对])|总之|老实说|说实话|当然|忘了说|跟你说|告诉你|还有|大家好)(?=[我，\s一-鿿])\s*)+"
)
_THEIRS: Final = (
    r"[^我你您他她它和跟与对给爱恨欢厌怕想见陪带送教是有在]{1,8}的(?:大|小|老|双胞胎)?(?:爸|妈|父|母|哥|姐"
    r"|弟|妹|爷|奶|叔|舅|姑|姨"
    r"|老公|老婆|丈夫|妻子|儿子|女儿|孩子|宝宝|闺女|侄|孙|外甥|男朋友|女朋友|男友|女友|同事|同学|室友|朋友|闺蜜|猫|狗)"
)
"""Behind 我: 我三岁的儿子. Nothing may stand before 的 that has the relative as its object (我喜欢的, 我给他的)."""
_NOT_SELF: Final = (
    rf"{_THEIRS}|"
    r"们|俩|方|国|的|家|爸|妈|哥|姐|弟|妹|老公|老婆|媳妇|爱人|丈夫|妻子|儿子|女儿|孩子|男朋友|女朋友|"
    r"男友|女友|对象|同[事学桌]|室友|舍友|前(?:男|女)(?:朋)?友|前[夫妻任](?!何)|"
    r"(?:最好的|最要好的|好|新|老|小|男|女|一个|有个)?朋友|闺蜜|哥们|老板|领导|爷|奶|外公|外婆|姥|叔|舅"
    r"|姑|姨|表[哥姐弟妹]|堂[哥姐弟妹]|邻居|侄|孙|这(?!个?人|周|个?月|[两几]天|个?星期|个?礼拜|学期|阵子"
    r"|段时间|辈子)|那"
)
"""Behind 我: words with which it does not mean the user alone."""
_SELF: Final = rf"(?:本人|我(?:这个?人|(?=[跟给对])|(?!{_NOT_SELF})))"
_EVERY: Final = (
    r"(?:每|隔)(?:天|晚|周末|周|年|个?月|个?周末|个?星期|个?礼拜|早|日)(?:[一二三四五六日天](?![天个次]))?"
    r"(?:早上|早晨|晚上|中午|下午|傍晚|清晨|早|晚)?(?:[0-9一二三四五六七八九十]{1,3}点半?)?"
)
_MONTH: Final = r"(?:1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])月(?:份|初|底|中旬)?"
_MONTH_OF_CHANGE: Final = (
    rf"(?:今年|去年|前年|(?:19|20)\d\d年)?{_MONTH}"
    r"(?=我?(?:就|才|又|刚刚?|已经|终于|正式|全家|一个人){0,3}(?:从[^我，]{1,8}?)?"
    r"(?:搬(?:[到来去回进]|家到)|定居|落户|移居|移民|跳槽|跳[到去]|入职|加入|转行|改行)[^，]{0,20}了)"
)
"""A month in which something changed, as 了 says: 我四月搬到了深圳. Without 了 it may be a plan."""
_SINCE: Final = (
    rf"(?:(?:自从?|从)?(?:(?:19|20)\d\d年|去年|前年)(?:{_MONTH})?(?:起|开始|以来|就(?!要))"
    rf"|(?:自从?|从)(?:19|20)\d\d年(?:{_MONTH})?(?=我|住|在|一直|就))"
)
"""From a year on: 自2019年, 2019年起."""
_ADVERB: Final = (
    r"(?:现在|目前|眼下|其实|平时|平常|一直|最近|近来|今年|真的|真|特别|非常|很|超级|超|也"
    r"|还(?!是[不很最更讨喜爱])|就|都|最|"
    r"比较|更|挺|蛮|有点|已经|刚刚|刚才|刚好|刚|特(?=[喜爱讨怕])|(?:今天|昨天|前天|昨晚)(?=刚|才)"
    r"|还是(?=不|很|最|更|讨厌|喜欢|爱)|"
    r"本来|从小|没事|一?有空|闲着没事|实在|确实|一般|通常|经常|常常|总是|习惯|业余时间|闲的时候|周末"
    r"|有时候?|偶尔|从来|一向|"
    r"是真|上个?月|上周|去年|年初|自?从.{2,6}(?:起|开始)|"
    rf"{_EVERY}|(?:比起|相比|[跟和].{{1,6}}?比(?:起来)?).{{0,8}}?(?=我)|天天|早上|晚上|中午|睡前|饭后"
    rf"|下班后|(?:今年|去年|"
    rf"前年)?(?:[0-9一二三四五六七八九十]{{1,2}}月)(?:份|初|底)(?!\d)|{_MONTH_OF_CHANGE}|{_SINCE}|[一-鿿]{{0,4}}的时候(?=我)|前两天"
    rf"|前几天|前阵子|{_SELF})"
)
_ADVERBS = re.compile(rf"^(?:{_ADVERB}\s*){{0,6}}")
_ME = re.compile(rf"^(?:{_ADVERB}\s*){{0,6}}?{_SELF}")
_ME_THEN = re.compile(rf"^{WHEN}{{1,3}}{_SELF}")
_WE = re.compile(rf"^(?:{_ADVERB}\s*){{0,6}}?(?:我们|咱们|我俩|我和)")
_OTHER = re.compile(
    rf"^(?:{_ADVERB}\s*){{0,6}}?(?:你|您|他|她|它|大家|别人|人家|有人|有些人|谁|咱|老板|领导|同事|朋友|"
    r"[这那](?!周|个?月|个?星期|个?礼拜|[一两几]天)|歌词|书上|网上|新闻|据说|听说|张|李|王|"
    r"小[明红李王张]|我)"
)
_ASKS = re.compile(
    r"吗$|什么|怎么|怎样|咋|为何|为啥|多少|多久|多长时间|多远|哪[儿里个些位一种天]?|(?<!说)谁|几[点岁号个]"
    r"|是不是|要不要|"
    r"有没有|能不能|可不可以|会不会|该不该|"
    r"好不好|对不对|还是.{1,12}[呢好]$|请问|来着|么$|记得不|难道|([一-鿿])不\1"
)
_SUPPOSES = re.compile(
    r"如果|要是|假如|假设|假使|万一|倘若|除非|即使|就算|但愿|的话$|的话，|多好|就好了|恨不得|想变成一|"
    r"(?<!没)梦见|想象|幻想|角色扮演|扮演|[上下]辈子|比如|例如|譬如|宁愿"
)
_HEARSAY = re.compile(
    r"听说|据说|有人说|^(?:(?!老实)[小老阿][一-鿿]|[赵钱孙李周吴郑王冯陈杨朱张刘林黄何高马][一-鿿]{1,2})说"
    r"|(?:新闻|预报|网上|电视|报道|报纸|专家)[里上]?说|没有?说过(?=我)|^我们?的?(?:同事|同学"
    r"|邻居|室友|领导|老板|客户)(?:居然|竟然|又|还|老|总|非)?说[他她]|游戏里(?=我是)|[他她你]们?(?:说|讲|觉得"
    r"|以为)|别人.{0,3}说|人家说"
    r"|都说|歌词|台词|唱的?[：:“]?$|"
    r"剧情|小说里|电影里|故事|^(?!我(?:想|要|再|先|也|就)*说$)(?!.*(?:[跟和对]你|来|实话|老实|怎么|这么"
    r"|按理|换句话|可以|不得不|是)说$).+(?<![小传学解演听评])说$"
)
_UNSURE = re.compile(
    r"可能|也许|或许|大概会|好像|似乎|我猜|怀疑|应该是|说不定|不确定|考虑|想要不要|在想|要不|觉得|以为|"
    r"假装|开玩笑|骗你|想当"
)
_NEARLY = re.compile(r"差(?:一)?点儿?(?!意思|的|劲|$)|险些|就差没|差不多就")
"""What did not happen: 差点买了."""
_OWN = re.compile(r"我|咱|俺|本人")
_AS_I = re.compile(
    r"^(?:(?:爷爷|奶奶|老头子?|老太太|老汉|大叔|大妈|阿姨|姐|哥|本人|小弟|小妹|在下)(?=我)我|俺(?!们|家|爸|妈"
    r"|哥|姐)|咱(?=就|是|这|也|一|在|今年)|在下)"
)
"""Other words for 我 at the beginning of a clause."""
_TASK = re.compile(
    r"(?:改|改写|翻译|译|润色|缩写|扩写|续写|换)成(?!了|[A-Za-z0-9@.+_ -]{4,40}了$)|举(?:一?个)?例"
    r"|造(?:一?个)?句|第[一三]人称"
    r"|^(?:帮我)?(?:写|编|生成|来)(?:一?[个段篇首条份封句]).{0,6}"
    r"(?:故事|小说|剧本|对话|台词|文案|作文|笑话|诗|歌|朋友圈)"
)
"""A text is asked for: what stands beside it is of that text."""
_SARCASM = re.compile(r"^(?:呵呵+|呵|是是是+|对对对+|好好好+)$|^我可(?:真是|太)|信(?:他|她|你)个?鬼|满意了吧$")
"""Marks of what is not meant as it is said."""
_SHORT: Final = 5
"""Characters of a word before the clause: 哈哈, 本人女."""
_JOKES = re.compile(r"开玩笑的|(?<!没)骗你的|逗你的|逗你玩")
_PAST = re.compile(
    r"以前|曾经|过去(?!了)|小时候|小的时候|当时|那时|(?<![一二三四五六日天号年月点])之前|年轻时|"
    r"(?:工作|上班|任职|就职|实习|生活|居住|[住当做待])过(?!敏|的?[一-鿿]{0,2}手术)|.学的?时候|上学时"
    r"|那会儿|当年|原先|一度|前任|早年|过(?:一次|两次|几次)"
)
_REQUESTS = re.compile(
    r"^(?:请|帮|起个|取个|想个|把(?:这|那|上面|下面|以上|以下)|给我(?=看|讲|说|推荐|写|来|找|查|发|一|个)|麻烦"
    r"|能否|可以(?![叫喊]我)|提醒|记得|别忘|查|推荐|告诉我"
    r"|写|翻译|看看|讲|来个|来一|介绍)|(?<![来会在要给])(?:帮|提醒|告诉|教)(?:一?下)?我(?!们带)"
)
_REMEMBER = re.compile(
    r"^(?:请|麻烦|拜托)?你?(?:一定|千万)?(?:(?:要|帮我)?(?:记住|记着|记一下|记下来?)|(?:别|不要)忘[了记]?|(?<!你)记得)"
    r"了?(?:一?下)?(?=我(?!吗?$))"
)
"""What asks to keep what follows, which is said plainly: 记住我对青霉素过敏."""
_PARTICLES = re.compile(
    r"(?<![了的呀啊哦呢吧哈啦嘛哟喔噢耶诶哎欸~～!！])(?<!而已)(?:来的|(?<!来)的|而已|[了呀啊哦呢吧哈啦嘛哟喔噢耶诶哎欸~～!！])"
    r"(?:[了的呀啊哦呢吧哈啦嘛哟喔噢耶诶哎欸~～!！]|而已|来的)*$"
)


_IDIOM = re.compile(r"(?<=[死坏疯惨翻])我(?=了|啦|$)|我的(?:天|妈|老天|个?乖乖)[啊呀哪]?|我[去靠晕]$")
_JOIN = re.compile(r"(?=但是|不过(?!敏)|可是|而且|所以|因为)")
_KIN: Final = (
    r"(?:[大小表堂亲]?[哥姐弟妹]{1,2}|老[公婆]|妻子|丈夫|媳妇|爱人|[前男女]{0,2}朋?友|对象|闺蜜|哥们|发小|同[事学桌]"
    r"|儿子|女儿|闺女|孩子|宝宝|娃|室友|舍友|邻居|房东|房客|亲戚|[叔舅姑姨]{1,2}|侄[子女]|外甥女?|老[师板]|师[傅父兄姐弟妹]"
    r"|领导|上司|客户|教练|[女男]孩子?|[女男]生|姑娘|小伙子?|帅哥|美女|爸爸|妈妈|老[爸妈]|爸妈|父[母亲]|母亲|爷爷|奶奶"
    r"|外[公婆]|姥[姥爷]|[公婆岳][公婆父母])"
)
_ANIMAL: Final = r"(?:[一-鿿]?[猫狗兔]咪?狗?子?|仓鼠|鹦鹉|乌龟|金毛|柯基|柴犬|布偶|边牧|泰迪|博美|哈士奇|二哈|宠物)"
_HAS: Final = re.compile(
    r"(?<![没不想要备算])(?:有|养|认识|交|找|谈|追|收养|领养|捡|生|遇[到见]|碰[到见]|来)[了过着]?"
    rf"(?:一?[个位只条名])?新?(?:[^我，没]{{1,6}}的)?(?:{_KIN}|{_ANIMAL})(?:了$|$|叫|名叫|在|是|今年|对)"
)
"""What follows 我有个弟弟 without a subject is the brother's."""
_THEY_ARE: Final = re.compile(
    rf"^(?:{_KIN}|[新老前](?:[邻同室舍男女夫妻]|任(?!务|何))[^我，]{{0,2}})(?!圈|们?都?说|推荐|介绍|送|让|叫我)"
)
_SOMEBODY = re.compile(r"[他她您你]")

Subject: TypeAlias = Literal["me", "we", "none", "other"]


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause that claims something. `core` is what follows subject and adverbs, `adverbs` what precedes it."""

    text: str
    core: str
    adverbs: str
    subject: Subject
    """`none`: no subject, here or before. Chinese drops `I` more often than any other."""
    past: bool
    rest: tuple[str, ...] = ()
    """The clauses that follow in the sentence, at most MOST_AFTER."""
    continues: bool = False
    """It leaves out 我 and goes on from a clause before it."""
    before: tuple[str, ...] = ()
    """The clauses before it, of the sentence and of the one before."""
    theirs: bool = False
    """It leaves out its subject behind the name of another being: 我有个弟弟，对猫过敏."""

    @property
    def mine(self) -> bool:
        """Whether it probably speaks of the user."""
        return self.subject in ("me", "none")


def without_particles(text: str) -> str:
    """Return a text without the particles at its end, which carry tone and no meaning."""
    return _PARTICLES.sub("", text)


def without_idioms(text: str) -> str:
    """Return a text without the 我 of idioms, which means no person: 气死我了 is 气死了."""
    return _IDIOM.sub("", text)


def claims(sentence: Sentence) -> Iterator[Clause]:
    """Yield the clauses in which the user claims something, without questions, suppositions, hearsay and doubts.

    A clause without a subject has that of the clause before it; another person's lasts from one sentence to the next.
    From a supposition or reported speech on, the rest of the sentence is no claim; a sentence that calls itself a joke
    has none.
    """
    heir = _heir(sentence.after)
    of_another = sentence.of_another
    for said in sentence.after:
        of_another = _is_of_another(_FILLER.sub("", said), was=of_another)
    mine = asked = False
    if any(_JOKES.search(said) for said in sentence.clauses):
        return
    parts = [part for said in sentence.clauses for part in _JOIN.split(said) if part]
    for place, said in enumerate(parts):
        text = _AS_I.sub("我", _REMEMBER.sub("", _FILLER.sub("", said)))
        if _TASK.search(text) or _SARCASM.search(text):
            return
        if _SUPPOSES.search(text) or _HEARSAY.search(text):
            return
        speaks_of = _subject(text, heir)
        theirs = of_another and speaks_of in ("me", "none") and _OWN.search(said) is None
        if theirs:
            speaks_of = "none"
        of_another = _is_of_another(text, was=of_another)
        # 剧里女主单身，住在纽约: what goes on from a clause of somebody's, or from a request, is not the user's.
        goes_on = not asked and not theirs and (not place or mine or len(parts[place - 1]) <= _SHORT)
        whole = restored(text, (*sentence.after, *parts[:place])) if goes_on and speaks_of in ("me", "none") else text
        left_out = whole != text
        text, speaks_of = whole, "me" if left_out else speaks_of
        if asked and speaks_of == "none":  # 起个店名，卖手工饺子的: what is ordered
            speaks_of = "other"
        mine = speaks_of == "me"
        asked = asked or _REQUESTS.search(text) is not None
        # 我知道他喜欢旅游，喜欢画画: what follows without a subject may be his.
        heir = "other" if speaks_of == "me" and _SOMEBODY.search(text) else speaks_of
        if (
            _ASKS.search(text)
            or (sentence.asks and place == len(parts) - 1)
            or _UNSURE.search(text)
            or _NEARLY.search(text)
            or _REQUESTS.search(text)
        ):
            continue
        adverbs = _ADVERBS.match(text)
        cut = adverbs.end() if adverbs else 0
        yield Clause(
            text=text,
            core=text[cut:],
            adverbs=text[:cut],
            subject=speaks_of,
            past=_PAST.search(text) is not None,
            rest=tuple(parts[place + 1 : place + 1 + MOST_AFTER]),
            continues=place > 0 and (left_out or speaks_of == "none" or (mine and _OWN.search(said) is None)),
            before=(*sentence.after, *parts[:place]),
            theirs=theirs,
        )


def _is_of_another(text: str, *, was: bool) -> bool:
    """Return whether what comes behind a clause without a subject is said of somebody else, as it `was` before it."""
    if _HAS.search(text):
        return True
    return (was or _THEY_ARE.match(text) is not None) and _OWN.search(text) is None


_ASKS_OF: Final = re.compile(
    r"^(?:那么?|所以|请问|而且|然后)*(?:(?:[跟给和]我)?[说讲聊谈介绍]{1,3}(?:一?下)?|你(?:还)?(?:知道|记得))?"
    rf"(?:[他她它]|(?:你们?家?的?)?[新前大小]?(?:{_KIN}|{_ANIMAL}|[爸妈](?!呀)))"
)
_ASKS_YOU: Final = re.compile(r"你|您")


def asks_of_another(sentence: Sentence) -> bool | None:
    """Return whether a question is about somebody else (你弟弟住哪？); None where it is not known whom it is about."""
    for said in reversed(sentence.clauses):
        if _ASKS_OF.match(_FILLER.sub("", said)):
            return True
        if _ASKS_YOU.search(said):
            return False
    return None


def tells_of_another(sentence: Sentence) -> bool:
    """Return whether what the user says next without a subject is said of somebody whom the sentence names."""
    clauses = (*sentence.after, *sentence.clauses)[-MOST_AFTER:]
    of_another = sentence.of_another
    for said in clauses:
        of_another = _is_of_another(_FILLER.sub("", said), was=of_another)
    return of_another or (_heir(clauses) == "other" and any(map(BEING.search, clauses)))


def _heir(before: tuple[str, ...]) -> Subject:
    """Return the subject that a sentence inherits: 我儿子三岁了。喜欢恐龙 is about the son."""
    heir: Subject = "none"
    for said in before:
        text = _FILLER.sub("", said)
        # What is said of the listener or of a thing ends with its sentence (你真好。这个不错。那当然。).
        if not re.match(r"[你您谁这那大咱]", text):
            heir = _subject(text, heir)
    return heir if heir == "other" else "none"


def _subject(text: str, heir: Subject) -> Subject:
    if _ME.match(text) or _ME_THEN.match(text):
        return "me"
    if _WE.match(text):
        return "we"
    return "other" if _OTHER.match(text) else heir
