"""Chinese statements about oneself: name, age, birthday, work, home, allergies, skills, relationship."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from projections.dates.numerals import NUMERAL, number
from projections.dates.yearly import birth_date
from schemas.vocabulary.attributes import NICKNAME
from streams.extraction.rules.chinese.clauses import without_particles
from streams.extraction.rules.finding import Finding, profile
from streams.extraction.rules.occupations import chinese_occupation, english_occupation
from streams.extraction.rules.places import chinese_city, latin_city

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.chinese.clauses import Clause

_SURNAMES: Final = (
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦许何吕施张孔曹严华金魏陶姜谢邹苏潘葛范彭鲁韦马方俞任袁柳史唐薛"
    "雷贺倪汤罗毕郝安常于傅齐"
    "康余顾孟黄穆萧尹姚邵汪祁毛戴宋庞熊纪舒屈项祝董梁杜阮蓝季贾江童颜郭梅林徐邱骆高夏蔡田胡霍万柯卢丁邓"
    "洪崔程陆翁段侯武刘叶白蒲"
    "曾龙黎尤"
)
_NAME: Final = (
    rf"(?:(?:欧阳|上官|司马|诸葛|司徒|皇甫|慕容)[一-鿿]{{1,2}}|[{_SURNAMES}][一-鿿]{{1,2}}|"
    r"[小阿老大][一-鿿]{1,2}|[一-鿿]{2}|[A-Z][A-Za-z]{1,19}(?: [A-Z][a-z]+)?)"
)
_NO_NAME = re.compile(
    r"^(?:了|你|他|她|它|什么|外卖|不|过|的|我|好|这个|那个|救|停|车|一|大家|完|到|来|做|本|真名|名|妈|"
    r"爸|老师|宝|老[公婆]|人|就)"
)
_CALLED = re.compile(
    rf"^(?:叫做?|名叫|名字[是叫]|[英中]文名[是叫]?|真名[是叫]?|的?名字[是叫]|全名[是叫]|本名)({_NAME})$"
)
_CALL_ME = re.compile(
    r"^(?:大家|朋友们?|同事们?|同学们?|你|你们)?(?:就|都|一般|通常|平时|可以|以后)*(?:管我叫|叫我|喊我|"
    rf"称呼我)({_NAME})(?<!就)(?:就行|就好|就可以|好|吧|即可|都行)*$"
)
_IS_NAMED = re.compile(rf"^是([{_SURNAMES}][一-鿿]{{2}})$")
_IS_PET_NAME = re.compile(
    r"^是(?P<name>[小阿](?!学|孩|时|白|偷|编|仙|姐|伙|妹|弟|哥|明星|众|组|区|镇|城|县|村|贩|丑|人|康|资|店|微|型|说|朋|三|气"
    r"|心|公|老|红|学)[一-鿿]{1,2})$"
)
"""A name that only a greeting, or more of an introduction, tells from a noun: 你好，我是小雅."""
_GREETS = re.compile(r"^(?:你好|您好|大家好|嗨|哈喽|哈啰|嘿|早上好|晚上好|初次见面|自我介绍|hello|hi)", re.IGNORECASE)
_INTRODUCES = re.compile(r"^(?:我)?(?:今年|来自|是.{2,3}人|\d{1,2}岁|在.{2,10}(?:做|工作|上班|上学|读))")
_NAMED_SO = re.compile(rf"^([{_SURNAMES}][一-鿿]{{1,2}})$")
_AGE = re.compile(rf"^(?:刚好|正好|刚满|满|虚岁|周岁)?({NUMERAL})(?:周?岁)(?:多)?(?:$|的(?=$|人|男|女|程序|学生))")
_YEARS: Final = r"[1-9]\d|[二三四五六七八]?十[一二三四五六七八九]?"
_YEARS_NOW = re.compile(
    rf"^我(?P<bare>{_YEARS})$|^(?:我|本人)?刚满?(?P<full>{_YEARS})(?:周?岁)(?:了|啦)?$"
    rf"|^(?:我|本人)?(?:今年|已经|都|马上|眼看)*(?P<age>{_YEARS})(?:岁)?(?:了|啦)(?:还|$|的|依然|才)"
)
_TODAY = re.compile(r"^今天(?:刚|就|正好)?(?=满|[\d一二三四五六七八九十])")
_AGE_BARE = re.compile(r"^(?:刚好|正好|刚满|满|虚岁|周岁)?([1-9]\d|[二三四五六七八]?十[一二三四五六七八九]?)$")
_AGES: Final = (3, 120)
"""Years, of someone who writes."""
_DENIED = re.compile(r"不[是在](?=.?.?[\d一二三四五六七八九十])")
_RATHER = re.compile(r"^(?:我|而|已经|现在|今年|其实|应该|都|是)*(?=[\d一二三四五六七八九十])")
_OWN = re.compile(r"我|本人")
_MY_NAME = re.compile(rf"^我的(?:名字|全名|本名|真名|[英中]文名)[叫是]({_NAME})$")
_BIRTHDAY = re.compile(
    r"^(?:我的?)?生日(?:是|在)?(?:农历)?(?=[\d一二三四五六七八九十])|[出]生(?:的)?$|^(?:出生[于在]|生于)"
)
_BORN_ON = re.compile(r"^[\d一二三四五六七八九十]{1,3}月[\d一二三四五六七八九十]{1,3}[号日](?:过?生日|是我的?生日)$")
_WORKS_AT = re.compile(
    r"^(?:在|去了|入职了?|加入了?(?![^，]{1,12}(?:队|群|社团|俱乐部|协会|[读学生工]+会|党|团|班|会员|行列|组织|计划|活动)$)|跳槽[到去]了?|跳[到去]了?|就职于|供职于|任职于)(.{2,14}?)"
    r"(?:上班|工作|任职|就职|实习|干(?=了?.{1,4}年)|待(?=了?.{1,4}年)|呆(?=了?.{1,4}年)|当|做|$)(.*)$"
)
_LEFT_WORK = re.compile(
    r"^(?!.*(?:想|打算|准备|考虑|快要?|没)).*(?:离职|辞职|辞掉?|退休|跳槽|被裁员?|被辞退|走人|不干|离开)了"
)
_IN_NOW = re.compile(
    r"^(?:我)?(?:现在|目前|如今|跳槽?[到去]了?|去了|入职了?)(?:我)?在?(?P<at>[一-鿿A-Za-z0-9·&]{2,10}?)(?:上班|工作)?$"
)
_GONE_FROM = re.compile(
    r"离开(?!了?家)|从.{1,8}(?:离职|辞职|跳槽)|(?:离职|辞职|辞了|跳槽|被裁)|不在.{1,8}(?:了|干|做|上班|工作)"
)
"""A firm that was left, behind which 现在在华为 names another."""
_DELIVERS = re.compile(r"^在(?P<at>[一-鿿A-Za-z0-9]{2,8}?)(?:送(?:外卖|快递|餐)|跑外卖)$")
_OUR_COMPANY = re.compile(
    r"^我们?的?公司(?:的?名字)?叫做?(?P<at>(?!停|我|你|大家|人|外卖|车|什么|不|来|去|员工|全|苦|了|他|她|好|回|上)"
    r"[一-鿿A-Za-z0-9·&]{2,12})(?<![了过])$"
)
_MAIN_JOB = re.compile(r"^(?:我的?)?(?:本职工作|本职|主业|职业|工作)(?:是|就是)(?P<what>[一-鿿A-Za-z]{2,10})$")
_FREE = re.compile(r"^(?:做|是|干|算是?|属于)?(?P<what>自由职业)者?$")
_CHANGED_TO = re.compile(r"^(?:后来)?(?:就)?(?:转行|改行)(?:去|来)?(?:做|当)了?(?P<what>[一-鿿A-Za-z]{2,12})$")
_BOUND: Final = r"(?:公司|集团|银行|大学|医院|研究院|事务所|科技|中学|小学)"
_NO_EMPLOYER = re.compile(
    r"^(?:家|这|那|外|公司|单位|自己|一|国企|外企|私企|央企|体制内|银行$|医院$|学校$|工厂$|大厂|互联网|国外"
    r"|线上|网上|老家|办公室|厨房|北方|南方|我|你|他|她|跟|和|等|"
    r"当前|目前|现在|工作|努力|认真|思考|考虑|计划|尝试|准备|找|想|看|做|写|学|读|忙|床|路上|地铁|外地"
    r"|海外|附近|市中心|某|.*[也更换的了着过很不没都又再]|.*(?:(?<!阿)里|上|边|下|室|店|楼|房)$)"
)
_DUTY = re.compile(
    r"^在(?:一?[家个所间])?[一-鿿A-Za-z]{0,8}(?:公司|厂|店|工厂|机构|单位|银行|医院|学校|集团|餐厅|酒店|工作室"
    r"|事务所|超市|幼儿园|工地)(?:里|上)?"
    r"(?:做|当|干|跑)(?P<what>[一-鿿A-Za-z]{2,6})$"
)
_AT_DOES = re.compile(
    r"^(?:留)?在(?P<at>[一-鿿A-Za-z0-9·&]{2,12}?)(?:里|上)?(?P<verb>跑|送|做|当|干|教|卖|开|搞|修|写)了?(?:"
    rf"(?:快|都|有|差不多)?{NUMERAL}多?年(?:的|半)?)?(?P<what>(?![一二三四五六七八九十几半两\d]|了|的|过|事|饭"
    rf"|梦|项目|东西|活|什么|自己|兼职|检查|手术|题|作业|活动|体检|志愿|义工|点|一|这"
    rf"|那)[一-鿿A-Za-z]{{2,6}}?)(?P<of>的)?$"
)
"""What is done somewhere: 在美团跑了三年外卖, 在非遗工坊做漆器的."""
_SELLS = re.compile(
    r"^(?:(?:毕业|现在|后来|目前|转行|改行|就|却|跑){0,4}去?)(?P<what>(?:卖|跑)(?:保险|房子?|车|货|菜|水果|衣服"
    r"|手机|早点|煎饼|奶茶|房产|滴滴|出租|货运|外卖|网约车|业务|长途|快递))了?的?$"
)
_KEEPS_SHOP = re.compile(
    r"^(?:自己|我自己|跟.{1,4}|和.{1,4})?开了?(?:一?[家个间]|着)?(?P<what>(?!会|车)[一-鿿]{0,8}?(?:店|铺|馆|厂"
    r"|民宿|公司|工作室|诊所|餐厅|饭店|超市|网店|咖啡厅|作坊|农场|"
    r"补习班|律所))(?:的)?$"
)
_ENDS_AS_INSTITUTION = re.compile(r"(?:医院|学校|中学|小学|大学|高中|初中|幼儿园|银行|药房|公司|机构|工作室)$")
_SHORTEST_INSTITUTION: Final = 4
"""Characters: 中学 alone names none."""
_NO_DUTY = re.compile(r"了|的|过|事|饭|梦|项目|东西|活$|什么|自己|人$|兼职|检查|手术|题|作业|活动|体检")
_TRADE = re.compile(
    rf"^(?:干|做)(?P<what>[一-鿿A-Za-z]{{2,6}}?)这一?行(?:都|也|快|有|已经|干|做)*了?(?:{NUMERAL}多?年)?$"
)
_LINE = re.compile(r"^是?(?:(?:做|搞|干)|(?=开|卖))(?P<what>(?!什么|梦|饭|开玩笑|自己|好|对)[^了过我你他这那]{2,8})的$")
"""What is done for a living: 做跨境电商的, 是搞金融的."""
_JOB = re.compile(r"^(?:做|当|是做|从事|是|算是?|担任|成为了?)(.{2,14}?)(?:工作|的工作|这一行|这行)?(?:的)?$")
_CITY = re.compile(
    r"^(?:家)?(?:租?住在?|定居在?|搬到了?|搬来了?|搬去了?|搬家到了?|人在|坐标|现居|[漂待]在|base在?|生活在"
    r"|回到了?|在)(?P<place>[一-鿿A-Z].*)$"
)
_OUR_HOME = re.compile(r"^我?们?(?:一?全?家人?)?(?:现在|都|也|就|刚)*((?:住在|住|定居|搬到|搬来).+)$")
_WE_MOVED = re.compile(
    r"^(?:去年|前年|今年|上个?月|[春夏秋冬]天|年初|年底|后来|毕业后|婚后|\d{4}年)+我们(?:全家|一家|就|又|才|也)*(?P<home>(?:搬到|搬来|搬去|定居在?).+)$"
)
_MOVED = re.compile(r"^从.{2,6}?(?:搬到|搬去|搬来)了?(?P<place>[一-鿿A-Z].*)$")
_STAYS = re.compile(
    r"^$|^(?:市|[一-鿿]{1,4}[区县路])?(?:生活|工作|上班|定居|居住|住|安家|一[家个所].{1,8}(?:当|做|上班"
    r"|工作|任职).*|读书|上学|上大学|读[研博]|读大.|买了房|打工|做.{2,8}|当.{2,8}|(?:待|呆|混|漂"
    r"|打拼)(?=了))?(?:了?.{1,3}年)?$"
)
_WORKS_THERE = re.compile(
    r"^(?:市|[一-鿿]{1,4}[区县路])?(?:工作|上班|打工|一[家个所].{1,8}(?:当|做|上班|工作|任职)|做|当)"
)
_SETTLED = re.compile(
    r"^(?:从.{2,8}?)?(?:刚|才|又|已经|终于|总算|全家|举家|现在|目前|后来|毕业后?|去年|今年|前年|年底|年末|春天|夏天"
    r"|秋天|冬天|月底|月初|年初|上个?月){0,6}(?:搬到"
    r"|搬来|搬去|搬回|搬家到|定居在?|落户在?|移居到?|移民到?|移民去|"
    r"留在|扎根在?|回了?老家|人在|常住|家住|现居|坐标|(?:在(?=[一-鿿]{2,12}(?:买了房|安了家|安家|定居|落户"
    r"|租了?房|租了个|住了.{1,3}年|"
    r"待了.{1,3}年|生活了.{1,3}年))))了?(?P<place>[一-鿿]{2,30})$"
)
_MOVES_AWAY = re.compile(r"回(?:了)?老家|离开|搬走|搬[到回去]|不在那|又去了|后来去|现在[在住]")
_VISIT = re.compile(r"玩|旅[游行]|出差|度假|看病|开会|几天游|酒店|机场|(?<!没)[几两三\d]天$|一周$|想|打算|计划|准备|要")
_DISTRICT = re.compile(
    r"^(?!之|以|多|算|酒|饭|宾|旅|亲|朋|同|的|很|太|真|好|也|都|不|没|过|着|快|[一二两三四五六七八九十几半])"
    r"[一-鿿]{2}(?<![店家院楼校馆天周夜晚月年后前了吗呢吧过着久])(?:那边|这边|附近|一带)?$"
)
"""A part of a city that is named without 区, where somebody lives or moves."""
_JUST_NOW = re.compile(r"今天|现在|刚|目前|这[两几]天")
_RESIDES = re.compile(r"^(?:家)?(?:住|定居|搬)")
_ALLERGIC = re.compile(r"^对((?:(?![不没无]|什么|任何).){1,8}?)(?:严重|轻微|[也都还就很]){0,2}(?:会)?过敏$")
_REACTS = re.compile(
    r"^(?P<what>[一-鿿]{2,5}?)我?(?:是|可|真的)?(?:一?(?:吃|碰|喝|闻)(?:了|到)?|碰都)(?:就|都|会"
    r"|要)*(?:起疹子|起红疹|过敏|嘴肿|肿|浑身痒|全身痒|长疹子|不能碰|不敢碰)(?:的|了)?$"
)
_OWN_ALLERGY = re.compile(
    r"^(?:一.{1,4}就)?(?:有)?(?P<what>(?!体质|严重|容易|皮肤|别人|的|对|不|没|也|会"
    r"|就)(?:(?![不没无])[一-鿿]){2,4}?)(?:严重|会)?过敏$"
)
_INTOLERANT = re.compile(r"^(?:有)?(乳糖|麸质|酒精|咖啡因)不耐受$")
_CANNOT_EAT = re.compile(r"^不能[吃喝碰](.{1,6})$")
_A_LITTLE = re.compile(r"^会一点儿?[一-鿿]{2,4}$")
_SKILL = re.compile(
    r"^(?:会|擅长|精通)(?!不|来|去|在|有|被|让|想|觉得|努力|尽量|议|很|给|跟|和|找|帮|记|后|的|是|好|生"
    r"|死|哭|过|计|员|注|变|更|再|迟|忘|带|吃|考虑|告诉|继续|认真|一直|按)"
    r"((?:弹|拉|吹|说|讲|写|做|修|画|打|唱|跳|踢|游泳|编程|书法|摄影|烘焙|下|剪|开|用|骑|滑|一点|"
    r"[A-Z]).{0,10}|游泳|编程|书法|摄影|烘焙)$"
)
_STATUS: Final = (
    (re.compile(r"^(?:结婚了|结婚.{1,4}年了?|已经结婚了?|领证了?|已婚|是已婚.*)$"), "已婚"),
    (
        re.compile(
            r"^(?:还是|还|是|一直|仍){0,3}(?:母胎)?(?:单身|solo)(?:着|狗|汉|中|至今|到现在)?(?:了?.{1,3}年)?了?$"
        ),
        "单身",
    ),
    (re.compile(r"^(?:还|至今|仍)?未婚(?:未育)?$|^(?:还)?没(?:结婚|结过婚|对象|谈过恋爱|有对象)$"), "单身"),
    (
        re.compile(
            r"^(?:是)?(?:二婚|再婚|三婚)(?:家庭)?(?:了)?$|^(?:去年|前年|今年|上个?月|刚刚?|昨天)(?:结婚|领证"
            r"|结的婚|领的证)了?$"
        ),
        "已婚",
    ),
    (
        re.compile(
            r"^(?:跟|和)?前(?:女友|男友|任|女朋友|男朋友)(?:分了|分手|掰了)(?:都|快|已经|有)?[^，]{0,6}了?$"
            r"|^[跟和]前(?:女友|男友|任|夫|妻)"
            r"(?:分了|分手|离婚|离了)(?:都|快|已经|有)*[^，]{0,6}了?$"
        ),
        "单身",
    ),
    (
        re.compile(
            r"^(?:离婚了|离婚(?:快|已经|都|有)?[\d一二两三四五六七八九十半几]{1,3}年多?了?|离异(?:带.{1,4})?"
            r"|离了婚?|离过婚)$"
        ),
        "离婚",
    ),
    (re.compile(r"^丧偶"), "丧偶"),
    (re.compile(r"^(?:又|刚刚?)?(?:分手|失恋)了?$"), "单身"),
    (re.compile(r"^(?:订婚了)$"), "订婚"),
    (
        re.compile(
            r"^(?:(?:脱单|恋爱|谈恋爱)了|(?:有|交|谈|找到?)了?(?:一?个)?新的?(?:男朋友|女朋友|男友|女友|对象)了?"
            r"|(?:交|谈)了(?:一?个)?(?:男朋友|女朋友|男友|女友|对象)|有(?:男朋友|女朋友|对象)了?|在谈恋爱|(?:[跟和](?:男朋友|女朋友|男友|女友"
            r"|对象))?(?:在)?异地恋?(?:快|已经|都|有)?(?:[\d一二两三四五六七八九十半几]{1,3}年多?)?了?)$"
        ),
        "恋爱中",
    ),
)

_MARRIED = re.compile(
    r"^[和跟](?:老婆|妻子|爱人|太太|老公|丈夫|先生)(?:已经)?结婚(?:快|已经|都"
    r"|有)?[\d一二两三四五六七八九十几多]{1,4}年多?了?$"
)
_PARTED = re.compile(
    r"^[和跟](?:我?(?:女朋友|男朋友|女友|男友|对象)[一-鿿]{0,3}?|(?!(?:他|她|它|你|公司|工作|老婆|老公|大家"
    r"|朋友|谁|人)).{1,4}?)(?:上个?(?:月|周|星期)|去年|今年|昨天|前天|前几天|最近|刚"
    r"|已经|终于|和平)*分手了$"
)


def keeps_birthday(clause: Clause) -> bool:
    """Return whether a clause says on which day of every year the user's birthday is: 我五月一号过生日."""
    return (clause.subject == "me" or "我" in clause.core) and _BORN_ON.match(
        without_particles(clause.core)
    ) is not None


def about_self(clause: Clause) -> Iterator[Finding]:
    """Yield who the user is. Patterns match only at the start of the clause, behind subject and adverbs."""
    bare = without_particles(clause.core)
    called = _CALL_ME.match(without_particles(clause.text))
    if called and not _NO_NAME.match(called[1]):
        yield profile(NICKNAME, called[1], f"用户可以叫{called[1]}")
    elif m := _MY_NAME.match(bare):
        yield _name(m[1])
    if re.match(r"^我的?生日", bare) or (clause.mine and _BIRTHDAY.search(bare)) or keeps_birthday(clause):
        day = birth_date(_affirmed(bare, clause))
        if day:
            yield profile("birthday", day, f"用户的生日是{day}")
    if clause.past:
        return
    yield from _our_company(clause)
    yield from _aged(without_particles(clause.text))
    if clause.subject == "we" and (m := _OUR_HOME.match(bare)):
        yield from _home(m[1], clause)
    elif m := _WE_MOVED.match(without_particles(clause.text)):
        yield from _home(m["home"], clause)
    if clause.mine:
        yield from _surnamed(clause)
        yield from _name_and_age(bare, clause)
        yield from _work(bare, clause)
        yield from _home(bare, clause)
        yield from _body_and_skills(bare, clause)
        yield from _relationship(re.sub(r"^.{1,6}了(?=还是?)", "", clause.core))


_NTH_BIRTHDAY: Final = re.compile(
    rf"^(?:昨天|前天|今天|上周|上个?月|前几天)(?:刚好?|正好|就)?(?:是|过了?)?我的?(?P<age>{NUMERAL})岁(?:的)?生日$"
    rf"|^我?(?:昨天|前天|上周|上个?月|前几天)我?(?:刚好?|正好|就)?(?:满|过了?)(?P<also>{NUMERAL})(?:周?岁)(?:的?生日)?$"
)
"""A birthday that has been says the age: 昨天是我29岁生日."""
_DUMPED: Final = re.compile(r"^被(?!老板|公司|朋友|同事|车|人|单位|大家|客户).{1,5}甩了$")


def _aged(text: str) -> Iterator[Finding]:
    m = _NTH_BIRTHDAY.match(text)
    age = number(m["age"] or m["also"]) if m else None
    if age and _AGES[0] <= age <= _AGES[1]:
        yield profile("age", str(age), f"用户{age}岁")


def _relationship(core: str) -> Iterator[Finding]:
    if _MARRIED.match(core):
        yield profile("relationship_status", "已婚", f"用户{core}")
    elif _PARTED.match(core) or _DUMPED.match(core):
        yield profile("relationship_status", "单身", f"用户{core}")
    # 了 is part of the meaning here, so the words are taken with it.
    for pattern, status in _STATUS:
        if pattern.match(core):
            yield profile("relationship_status", status, f"用户{core}")


def _our_company(clause: Clause) -> Iterator[Finding]:
    if m := _OUR_COMPANY.match(without_particles(clause.text)):
        yield profile("employer", m["at"], f"用户在{m['at']}工作")


def _affirmed(bare: str, clause: Clause) -> str:
    """Return the words that are claimed: what 是 says next where the clause denies (不是5月1号，是5月2号)."""
    if not _DENIED.search(bare):
        return bare
    return clause.rest[0] if clause.rest and _RATHER.match(clause.rest[0]) else ""


def _name_and_age(bare: str, clause: Clause) -> Iterator[Finding]:
    this_year = "今年" in clause.adverbs or (_TODAY.search(clause.adverbs + bare[:2]) is not None)
    bare = _TODAY.sub("", bare)
    if _DENIED.match(bare) and _OWN.search(clause.adverbs):
        bare = without_particles(_RATHER.sub("", _affirmed(bare, clause)))
        this_year = True
    # 我养了一只仓鼠，叫花卷，三岁: a name or an age without 我 in its own clause may be somebody else's.
    if "本人" in clause.text and (m := _SEX.match(without_particles(clause.text))):
        bare, this_year = without_particles(clause.rest[0]) if clause.rest else "", True
    elif _OWN.search(clause.adverbs):
        named = _CALLED.match(bare)
        if (m := _IS_PET_NAME.match(bare)) and _introduced(clause):
            yield _name(m["name"])
        stated = _IS_NAMED.match(bare) or (_NAMED_SO.match(bare) if "本人" in clause.adverbs else None)
        if named and not _NO_NAME.match(named[1]):
            yield _name(named[1])
        elif stated and not chinese_occupation(stated[1]):
            yield _name(stated[1])
    elif not this_year and not _YEARS_NOW.match(clause.text):
        return
    if m := _YEARS_NOW.match(clause.text):
        bare, this_year = m["age"] or m["bare"] or m["full"], True
    m = _AGE.match(bare) or (_AGE_BARE.match(bare) if this_year or clause.core.endswith("了") else None)
    age = number(m[1]) if m else None
    if age and _AGES[0] <= age <= _AGES[1]:
        yield profile("age", str(age), f"用户{age}岁")


def _introduced(clause: Clause) -> bool:
    """Return whether the sentence greets before a clause, or goes on to introduce behind it."""
    return any(map(_GREETS.match, clause.before[-1:])) or any(map(_INTRODUCES.match, clause.rest[:1]))


_SEX: Final = re.compile(r"^(?:本人|我)?(?:是)?(?:个)?([男女])生?$")
"""How one introduces oneself: 本人女，27，坐标成都."""
_SURNAMED: Final = re.compile(rf"^(?:本人|我)?姓(欧阳|上官|司马|诸葛|司徒|皇甫|慕容|[{_SURNAMES}])$")
_GIVEN: Final = re.compile(r"^(?:单名|名)(?:叫|是)?(?:一个?|个)?([一-鿿]{1,2}?)(?:字)?$")


def _surnamed(clause: Clause) -> Iterator[Finding]:
    if m := _SURNAMED.match(clause.text):
        given = _GIVEN.match(clause.rest[0]) if clause.rest else None
        if given:
            yield _name(m[1] + given[1])


def _name(name: str) -> Finding:
    return profile("user_name", name, f"用户叫{name}")


def _work(bare: str, clause: Clause) -> Iterator[Finding]:
    if any(map(_LEFT_WORK.search, clause.rest)):
        return
    readers = (_latin_job, _delivers_or_changed, _does_somewhere, _new_firm)
    if known_so := next(filter(None, (list(read(bare, clause)) for read in readers)), None):
        yield from known_so
        return
    if m := _WORKS_AT.match(bare):
        place, job = m[1], re.sub(r"^的", "", m[2])
        known = chinese_city(place)
        moved = bare.startswith(("去", "入职", "加入", "跳", "就职", "供职", "任职"))
        says_work = re.search(r"上班|工作|任职|就职|实习|[干待呆]了?.{1,4}年", bare)
        role = chinese_occupation(without_particles(job))
        if (
            known is None
            and (says_work or (role and not bare.startswith("去")) or moved)
            and not _NO_EMPLOYER.match(place)
        ):
            named = re.fullmatch(rf"[一-鿿A-Za-z0-9·&]+{_BOUND}?", place)
            if named and not (bare.startswith("去了") and not says_work):
                yield profile("employer", place, f"用户在{place}工作")
        if role:
            yield profile("occupation", role, f"用户的职业是{role}")
        elif (m := _DUTY.match(bare)) and not _NO_DUTY.search(m["what"]):
            yield profile("occupation", m["what"], f"用户的职业是{m['what']}")
        return
    m = _JOB.match(bare)
    role = chinese_occupation(m[1]) if m else None
    if role and (clause.subject == "me" or bare.startswith(("做", "当", "从事", "担任"))):
        yield profile("occupation", role, f"用户的职业是{role}")


_LATIN_JOB: Final = re.compile(
    r"^(?:现在|目前)?在(?P<at>[A-Z][\w&.]{1,20}(?: [A-Z][\w&.]{1,20})?)(?:公司)?(?:里|上班)?(?:做|当|担任)了?"
    r"(?:一?[名个位])?(?P<what>[A-Za-z][A-Za-z -]{1,29})$"
)
_SHORT_TITLES: Final = frozenset(
    {"PM", "QA", "HR", "CTO", "CEO", "CFO", "COO", "TPM", "SRE", "DBA", "sales", "marketing"}
)


def _latin_job(bare: str, _: Clause) -> Iterator[Finding]:
    """Yield a firm and a post that both have Latin names: 在Stripe做staff engineer."""
    if (m := _LATIN_JOB.match(bare)) and (m["what"] in _SHORT_TITLES or english_occupation(m["what"])):
        yield profile("employer", m["at"], f"用户在{m['at']}工作")
        yield profile("occupation", m["what"], f"用户的职业是{m['what']}")


def _new_firm(_: str, clause: Clause) -> Iterator[Finding]:
    m = _IN_NOW.match(without_particles(clause.text)) if any(map(_GONE_FROM.search, clause.before[-1:])) else None
    if m and not _NO_EMPLOYER.match(m["at"]) and chinese_city(m["at"]) is None:
        yield profile("employer", m["at"], f"用户在{m['at']}工作")


def _does_somewhere(bare: str, clause: Clause) -> Iterator[Finding]:
    """Yield what is done for a living where the clause says so by its place, its years or its shop."""
    shop = None if any("是" in said for said in clause.before) else _KEEPS_SHOP.match(bare)
    if m := _SELLS.match(bare) or shop:
        yield profile("occupation", f"开{m['what']}" if shop else m["what"], f"用户{without_particles(clause.core)}")
        return
    m = _AT_DOES.match(clause.core)
    if m is None or _WORKS_AT.match(bare) is None or re.match(r"路上|家|外面|网上|床上|国外|这|那|哪", m["at"]):
        return
    at = m["at"]
    role = chinese_occupation(m["what"])
    if not role and m["verb"] in "写开" and not m["of"]:
        return
    known = chinese_city(at)
    generic = len(at) < _SHORTEST_INSTITUTION and _ENDS_AS_INSTITUTION.search(at)
    named = (
        known is None
        and not generic
        and not _NO_EMPLOYER.match(at)
        and not re.search(r"[店厂坊铺馆]$|家|工地|工业园|市场", at)
    )
    if named:
        yield profile("employer", at, f"用户在{at}工作")
    if (
        role
        or m["verb"] in "跑送当教"
        or m["of"]
        or "年" in clause.core
        or known
        or re.search(r"企|厂|公司|店|坊|园|局|队", at)
    ):
        what = role or (m["what"] if m["verb"] in "跑送做当搞干" else m["verb"] + m["what"])
        yield profile("occupation", what, f"用户的职业是{what}")


def _delivers_or_changed(bare: str, clause: Clause) -> Iterator[Finding]:
    if m := _DELIVERS.match(bare):
        if chinese_city(m["at"]) is None and not _NO_EMPLOYER.match(m["at"]):
            yield profile("employer", m["at"], f"用户{bare}")
    # 我在星河科技上班，做医疗软件的: after another clause it is what the company makes.
    elif m := _TRADE.match(bare) or (None if clause.continues else _LINE.match(clause.core)):
        yield profile("occupation", m["what"], f"用户的职业是{m['what']}")
    elif m := _FREE.match(bare):
        yield profile("occupation", m["what"], f"用户是{m['what']}者")
    elif (m := _CHANGED_TO.match(bare) or _MAIN_JOB.match(without_particles(clause.text))) and (
        role := chinese_occupation(m["what"])
    ):
        yield profile("occupation", role, f"用户的职业是{role}")


def _home(bare: str, clause: Clause) -> Iterator[Finding]:
    m = None if any(map(_MOVES_AWAY.search, clause.rest)) else _SETTLED.match(bare)
    if m and clause.subject != "none" and not _VISIT.search(clause.text) and (city := chinese_city(m["place"])):
        yield profile("city", city, f"用户住在{city}")
        return
    m = _CITY.match(bare) or _MOVED.match(bare)
    if not m or clause.subject == "none":
        return
    city = chinese_city(m["place"]) or (None if bare.startswith(("在", "回", "人在")) else latin_city(m["place"]))
    if city is None:
        return
    after = without_particles(m["place"].removeprefix(city))
    # "在北京" alone is where somebody is, and where they work need not be where they live.
    if bare.startswith("在") and _WORKS_THERE.search(after):
        return
    just_there = bare.startswith(("在", "回")) or (bare.startswith("人在") and _JUST_NOW.search(clause.adverbs))
    if (just_there and not after) or not (_STAYS.match(after) or (_RESIDES.match(bare) and _DISTRICT.match(after))):
        return
    yield profile("city", city, f"用户住在{city}")


def _body_and_skills(bare: str, clause: Clause) -> Iterator[Finding]:
    allergic = any("过敏" in part for part in clause.rest)
    if m := _INTOLERANT.match(bare):
        yield profile("allergies", m[1], f"用户{m[1]}不耐受")
    elif m := _ALLERGIC.match(bare) or (_CANNOT_EAT.match(bare) if allergic else None):
        yield profile("allergies", m[1], f"用户对{m[1]}过敏")
    elif m := _REACTS.match(without_particles(clause.text)) or _OWN_ALLERGY.match(bare):
        yield profile("allergies", m["what"], f"用户{m.group().replace('我', '')}")
    if clause.subject != "me" and not _A_LITTLE.match(bare):
        return
    if m := _SKILL.match(bare):
        # 会说日语和英语 is two skills; the verb of speaking says nothing that the language does not.
        for skill in re.split(r"[和、跟]", re.sub(r"^[说讲](?=.{1,4}[语话文])", "", m[1])):
            if skill:
                learnt = re.sub(r"^一点儿?", "", skill)
                yield profile("skills", learnt, f"用户会{learnt}")
