"""Chinese statements about one's life that fill no slot: what somebody does, has, had, plans, and no longer does.

They are read only where no other rule finds anything in the clause: the words stay, said of the user.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from streams.extraction.rules.chinese.clauses import without_idioms, without_particles
from streams.extraction.rules.chinese.people import FAMILY
from streams.extraction.rules.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.chinese.clauses import Clause

_LONGEST: Final = 40
"""Characters. A longer clause is a story."""

_TIME: Final = re.compile(
    r"(?:从|自从)?\d{2,4}年|去年|前年|今年|[上下这]个?(?:月|周|星期)|最近|现在|目前|以前|曾经|小时候"
    r"|年轻时|\d{1,3}岁的时候|毕业后|退休[前后]|婚[前后]|产后"
    r"|疫情(?:以后|之后|后)"
    r"|大学|高中|平时|周末|周[一二三四五六日天](?:[和、]周[一二三四五六日天])?|晚上|早上|早饭|午饭|晚饭"
    r"|[上下]班[前后]|睡前|[中下上]午(?:以后|之后)?"
    r"|每(?:个?周[一二三四五六日天末]|[天晚早年月周日]|个月)"
    r"|(?:\d{1,2}|[一二三四五六七八九十]{1,2})月(?:份|底|初)?(?:之前|\d{1,2}[号日])?|\d{1,2}[号日]|(?:\d{1,2}"
    r"|[一二三四五六七八九十]{1,3})岁(?:的时候|起|时|就|开始)?|从小|自从.{1,8}?(?=我)|[^我，]{2,10}?的时候"
    r"|大?前天|昨晚|前(?:两|几)天|前(?:阵子|段时间)|这(?:阵子|段时间|几天|两天)|春节|过年|国庆|暑假|寒假"
    r"|年底前?|年初|天天|从没|其实|反正|上大学那会儿|那会儿|上学的?时候?"
    r"|刚刚?|才|已经|一直|[还又也都就很只正终总最真]|特别|非常|总是|老是?|经常|常常?|偶尔|一般|基本|终于"
    r"|正在|今天|昨天|隔.{1,2}?(?=去|做|就)|在餐厅|在食堂|在(?:网|路|线)上|我们?|咱们"
)
_MOST_TIMES: Final = 8
"""What stands before the verb: subject, times, adverbs."""
_DOES: Final = (
    r"在[^我，]{1,8}?[上里](?:卖|拍|写|教|摆摊|跑)|在(?:学|练|读|写|看(?=《)|准备|备考|攒|存|申请|找|养|减"
    r"|控|戒|吃(?=.{0,4}药)|做(?=.{1,8}(?:治疗|理疗|康复))|还|装修|考|追|谈|带|怀|休|办"
    r"|筹备|家办公|家上班|.{1,8}?"
    r"(?:长大|出生|出差|留学|读书|读研|上学|上大学|当兵|租|种|拉|弹|跳|做义工|做志愿者|兼职|实习|创业|开|办公))"
    r"|开(?=.{0,3}(?:辆|台|着|了|车|店|公司))|养了?|种了?|收集|收藏|拉(?=.{0,2}琴)|弹|吹|织|绣|画(?!面)|练"
    r"|戴|患|得了|有(?!点|时|意思|没有|人|事"
    r"|空|问题|什么|一?些|些|道理|趣|用|机会"
    r"|兴趣|必要|可能|感觉|感情)|住|租了?|攒|欠|借了|报了|报名|申请|准备考|备考|考(?:上|过|了|到|完)|毕业"
    r"|出生|生于|来自|老家|怕|害怕|恐|不能(?:吃|喝|碰|闻)|不吃|不喝|不抽"
    r"|离开(?![家这那他她它你我])(?=[一-鿿A-Za-z]{2,8}了$)|从没|从来没|没(?:去过|结婚|有(?:孩子|兄弟|驾照|房"
    r"|车))|去过|到过|是(?:[ABO]{1,2}型|左撇子|右撇子"
    r"|色盲|近视|.{1,4}座|独生|双胞胎|夜猫子|早起|吃货"
    r"|路痴|宅|社恐|.{0,3}族$|.{1,3}后$|"
    r".{1,6}人$|.{0,8}的(?:学生|会员|粉丝|铁粉|志愿者)|一?[个名位].{2,10}|.{2,10}专业|.{0,4}长大|素食|单亲"
    r"|早产|养女|养子)"
    r"|身高|体重|穿.{0,3}码|视力|血型|星座|属(?=[鼠牛虎兔龙蛇马羊猴鸡狗猪])|教(?!我|你|会)|退(?:了|休|出)"
    r"|辞|丢了|失业|失眠|订婚|结婚|结的婚|离婚|分手|升|当上"
    r"|转行|创业|搬|买了|卖了"
    r"|领养|收养|做了?(?=.{0,6}手术)|动了?手术|住院|骨折|摔|断了|断|扭|受伤|怀孕|生了|生的|入职|离职|跳槽"
    r"|参加|加入|学(?!会.?$|习了)|练"
    r"|打(?=.{0,4}(?:球|拳|牌|鼓|太极|游戏|工|针))"
    r"|踢|游|跑|骑|爬|滑|跳(?=.{0,3}(?:舞|绳|操))|冥想|健身|瑜伽|做(?=.{1,6}(?:瑜伽|义工|志愿|饭|运动|生意"
    r"|心理咨询|普拉提|直播|自媒体|兼职|副业))"
    r"|去(?=.{1,10}(?:吃饭|做|上课|跑步|健身|游泳|看|爬山|钓鱼|打球|咨询))"
    r"|喝|吃(?!饭了|完|过了|了吗|了$|了没)|点(?=.{1,6}饭|.{1,6}面)|用(?:的是|着|的)|玩|下(?=.{0,2}棋)|抽烟"
    r"|抽|戒|信(?=佛|教|基督|天主)"
    r"|想(?=(?:有一天)?(?:学|考|去.{1,6}(?:留学|读书|旅行|旅游|工作|生活)|换工作|辞职|开一?家|买房|买车|减肥|当))"
    r"|打算|计划|决定|准备|习惯|每次|一.{1,4}就(?=.{0,3}(?:疼|痛|吐|晕|过敏|咳|拉肚子|睡不着|失眠|偏头痛"
    r"|起疹|头))|晕(?:车|船|机|血|针)"
    r"|对.{1,8}(?:敏感|有研究|上瘾|不耐受|不再?过敏了)|鼻炎|膝盖|腰|老家"
    r"|上(?:夜|早|晚|白)班|打理|去.{1,8}家(?:吃饭|做客)|飞(?=[一-鿿]{2})|会(?=织|做|弹|修|画|写|唱)|要搬"
    r"|得交|把.{1,8}(?:退|卖|丢|弄丢|还)了"
    r"|是在.{1,6}长大|家在[一-鿿]楼|做(?=.{2,8}(?:的|行业|销售|营销|市场|管理|设计|运营|会计|外贸|金融)$)"
    r"|给宝宝|取名|在.{1,8}(?:教|出差|值班)|膝盖"
    r"|腰疼|不再|不(?=.{1,8}了$)|以前|曾经|戴|自由职业|二婚|是.{1,10}毕业|读的?(?=.{1,8}(?:专业|系|大学"
    r"|硕士|博士|研究生|本科))|学的是"
    r"|跟.{1,6}(?:合租|住|订婚|结婚|分手|离婚)|和.{1,6}(?:合租|住|订婚|结婚|分手|离婚|开)"
)
_LIVES: Final = re.compile(rf"(?:(?:在|和|跟|从|沿着)[^我，]{{1,8}}?)?(?:{_DOES})")
_NO_LIFE: Final = re.compile(
    r"[你您]|^我?不是|怕.{0,2}[他她]|的地方|这个|那个|这样|那样|这么|那么|这里|那里|这件|那件|怎么|什么"
    r"|一下$|知道|明白|同意|没事|不想(?!.*了$)|好累|好困|不行"
    r"|算了|回头|等会|待会|马上"
    r"|(?:先|再|快|要|正)(?:去)?(?:吃饭|睡|忙|走|下|洗澡|上班)|吃饭(?:去)?$|吃完|吃饱|睡觉$|有道理|有意思"
    r"|有个(?:问题|想法|疑问)|有(?:一点|点)|不好意思"
    r"|开心|高兴|无聊|一样|好了$|看看|试试|想想"
    r"|(?:笑|哭|气|累|烦|吓|饿|困|热|冷)死|谢谢|加油|晚安|早安|哈哈|呵呵|是谁|随便|都(?:行|可以)|裂开|破防"
    r"|麻了|绷不住|^我住在?$|真的吗|真好|不错$|还行|还好$"
)
_BACK: Final = re.compile(
    r"不再|(?:不|没有?)[^不没，]{1,12}了$|以前|曾经|戒了|小时候|退休前|年轻时|过去|过$|过两次|过.{1,3}次|以前"
)
_OWN: Final = (
    r"(?:家)?(?:的)?(?:车|房子|房租|房贷|猫|狗|狗狗|猫咪|兔子|仓鼠|鹦鹉|鱼|手机|电话|电脑|邮箱|血型|身高"
    r"|体重|膝盖|腰|颈椎|眼睛|视力|牙|血压|血糖|胃|肝|皮肤|头发"
    r"|工作|公司|团队|组|学校|专业|老家|婚礼|合同|签证|护照|驾照|车险|保险|工资|年终奖|实习|论文|导师|房东"
    r"|医生|邻居|室友|新工作|新家|星座|生肖|家乡|母校|宝宝|妈妈|爸妈"
    r"|父母|家人|公公|婆婆|房东|外甥|岳父|岳母|丈母娘|表姐|表哥|侄女|侄子)"
)
_MINE: Final = re.compile(
    rf"^我(?:们)?(?:家)?(?:的)?(?:大|小|二|三|亲|前|未来)?(?:(?:{FAMILY}|闺蜜|好?朋友|哥们|室友|舍友|同事"
    rf"|同学|老板|领导|房东|邻居|老师|导师)|{_OWN})"
    r"(?P<who>[一-鿿]{0,3}?)(?P<does>(?:的|是|在|有|住|对|不|上|开|做|要|会|拉|刚|考|得|生|把|集|收集|要"
    r"|走|去世|叫|今年|今天|昨天|明天|去年|上个?月|下个?月"
    r"|这个?月|上周|下周|周末|月底|月初|年底"
    r"|[一二三四五六七八九十\d]|尾号|姓|半夜|很少|夜班|死|喜|爱|怕|养|学|教|当|读|退|搬|结|离|怀|患|因|从"
    r"|每|都|也|刚|已经|最近|快|马上|准备|打算|到|涨|坏|丢|抛"
    r"|断|疼|痛|老是|总|一直|经|没|小提琴|钢琴|过敏|乳糖|属|来|给|跟|和).{0,24})$"
)
_NO_DOES: Final = re.compile(
    r"[你您]|^(?:说|觉得|让|叫我|骂|烦|吵|真|好|太|很|特别|超|非常|老|都说|不让|不同意|不懂|不理|不信"
    r"|不知道|也?没(?:说|办法)|在(?:吗|叫|催|等|干嘛)|要我"
    r"|给我打|的(?:天|妈|错|意思|话|问题|想法|老婆|老公|孩子|儿子|女儿|对象|男朋友|女朋友|朋友|同事|同学|邻居"
    r"|老板|领导|室友))|什么|怎么|气死|烦死"
    r"|笑死|可爱|漂亮|真好|太"
)
_AGE_OF: Final = re.compile(r"^我家(?:有|在|住|离).+|^我房东姓.+")
_ADVISED: Final = re.compile(r"^(?:心理)?(?:医生|大夫|营养师|教练)(?:让|叫|要|建议|说)我?.{3,20}$")
_NEIGHBOUR: Final = re.compile(
    r"^(?:隔壁|楼上|楼下|对门)(?:的)?[一-鿿]{2,4}(?:每天|半夜|老是|总是|天天|经常|晚上|养|在).{1,12}$"
)
_MET: Final = re.compile(r"^[和跟][一-鿿]{1,5}的(?:会议?|约|面试|饭局)(?:改到|推迟到|提前到|挪到|定在|约在).{2,8}$")


_TOLD_FROM: Final = 7
"""Characters. Shorter ones are answers and interjections."""
_TOLD: Final = re.compile(
    r"(?:去年|前年|今年|上周末?|上个月|昨天|今早|今天|从小|小时候|\d{4}年|从.{1,6}到|从.{2,10}来的|六月"
    r"|[一二三四五六七八九十\d]{1,2}月.{0,3}).{2,}"
    r"|[一二两三四五六七八九十百千\d]{1,3}(?:年|岁|公斤|斤|个月|只|条|家|台|辆|套|次)|在[^我，]{2,8}(?:唱"
    r"|跳|教|学|住|认识|上班|工作|当)"
    r"|只(?:看|喝|吃|穿|用|买|听)|(?:外甥|侄子|侄女|外甥女|宝宝).{2,}|(?:纹身|双胞胎|抗生素|胰岛素|降压药)"
    r"|当.{2,8}[一二两三四五六七八九十\d]+年"
)


def biography(clause: Clause) -> Iterator[Finding]:
    """Yield what a clause in which nothing else was found tells of the user's life, in its words."""
    text = without_particles(clause.text) if not clause.text.endswith("了") else clause.text.rstrip("啊呀啦")
    if len(text) > _LONGEST or _NO_LIFE.search(text) or clause.text.endswith("吧"):
        return
    if clause.subject == "other":
        if ((m := _MINE.match(text)) and not _NO_DOES.search(m["does"])) or _AGE_OF.match(text):
            yield Finding(content=_said_of_user(text), category="people")
        elif _NEIGHBOUR.match(text):
            yield Finding(content=f"用户的邻居{text}", category="people")
        return
    if clause.subject == "none":
        if _MET.match(text) or (text.startswith(("房租", "每个周", "退休前", "六月", "七月")) and _lives(text)):
            yield Finding(content=f"用户{text}")
        return
    # Without its own 我 a clause may be about what the one before it named.
    if ("我" not in text and "咱" not in text) or (clause.past and not _BACK.search(text)):
        return
    if _lives(text) or (len(text) >= _TOLD_FROM and clause.subject == "me" and _TOLD.search(text)):
        yield Finding(content=_said_of_user(text))


_THEY: Final = re.compile(r"^(?P<who>[他她]们?)(?P<does>.{2,30})$")
_CALLED: Final = re.compile(r"(?P<who>用户.+?)叫(?P<name>.+)")


_THEIR_WORK: Final = re.compile(r"在[^我他她你]{1,10}(?:上班|工作|读书|上学|上大学|当[^我]{2,6}|做[^我]{2,6})")
"""What one who was just named does, behind the name without a word for them: 我老公叫陈浩，在腾讯上班."""


def _name_of(named: Finding) -> str:
    who = _CALLED.fullmatch(named.content)
    return who["name"] if who else named.content


def of_them(clause: Clause, named: Finding) -> Finding | None:
    """Return what a clause says by 他 or 她 of somebody whom a finding names, with that one's words."""
    m = _THEY.match(without_particles(clause.text))
    if (
        m is None
        and clause.before[-1:]
        and clause.before[-1].endswith(_name_of(named))
        and _THEIR_WORK.fullmatch(without_particles(clause.text))
    ):
        who = _CALLED.fullmatch(named.content)
        words = f"{who['who']}{who['name']}{without_particles(clause.text)}" if who else None
        return Finding(content=words, category="people") if words else None
    if m is None or _NO_DOES.search(m["does"]):
        return None
    said = m["does"].replace("我", "用户")
    if named.attribute is None:
        return replace(named, content=f"{named.content}，{m['who']}{said}")
    who = _CALLED.fullmatch(named.content)
    return Finding(content=f"{who['who']}{who['name']}{said}", category="people") if who else None


def advised(said: str) -> Iterator[Finding]:
    """Yield what a doctor asks of the user: reported speech that is believed."""
    if _ADVISED.match(said):
        yield Finding(content=f"用户的{said.replace('我', '用户')}")


def _lives(text: str) -> bool:
    """Return whether a verb of one's life stands behind subject, times and adverbs."""
    at = 0
    for _ in range(_MOST_TIMES):
        if _LIVES.match(text, at):
            return True
        before = _TIME.match(text, at)
        if before is None:
            return False
        at = before.end()
    return _LIVES.match(text, at) is not None


def _said_of_user(text: str) -> str:
    return re.sub(r"我们|咱们|(?<!自)我", "用户", without_idioms(text), count=1).replace("我", "用户")
