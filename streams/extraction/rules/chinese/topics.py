"""Chinese clauses of one's life that are known by what they speak of: health, work, school, home, people, tastes.

They are read last, where neither a slot nor a verb of one's life was found. Who is meant must be said, or left out as
one leaves out oneself (最近在追…, 昨天体检…); what passes within the hour is no memory.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from streams.extraction.rules.chinese.clauses import without_idioms, without_particles
from streams.extraction.rules.chinese.ellipsis import is_of_world, tells_life
from streams.extraction.rules.chinese.people import FAMILY
from streams.extraction.rules.finding import Finding, profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams.extraction.rules.chinese.clauses import Clause

_SHORTEST: Final = 3
_LONGEST: Final = 40
"""Characters."""

_HEALTH: Final = (
    r"血压|血糖|血脂|尿酸|胆固醇|糖尿病|甲状腺|甲亢|甲减|结节|肿瘤|癌|胃|肠|肝|肾|肺|心脏|心率|腰|颈椎|膝盖|脚踝|手腕"
    r"|肩|关节|骨|牙|近视|散光|度数|视力|耳鸣|鼻炎|哮喘|湿疹|荨麻疹|贫血|低血糖|失眠|头疼|头痛|偏头痛|过敏|感冒|发烧"
    r"|咳嗽|流感|新冠|炎|手术|住院|出院|体检|复查|化疗|抑郁|焦虑症|多动症|自闭症|痛风|中风|吃药|中药|西药|降压药"
    r"|胰岛素|打针|输液|疫苗|怀孕|预产期|流产|备孕|坐月子|例假|大姨妈|痛经|更年期|减肥|体重|[胖瘦]了|公斤|戒烟"
    r"|戒酒|呼噜|睡不[着好]|睡得[着很]"
    r"|熬夜|过敏|晕车|生病|病了|受伤|骨折|扭伤|残疾|轮椅|拐杖|助听器|假牙|眼镜"
)
_WORK: Final = (
    r"公司|单位|部门|工资|薪|奖金|加班|裁员|升职|晋升|跳槽|离职|辞职|辞了|失业|下岗|offer|面试|简历|出差|夜班"
    r"|早班|晚班|值班"
    r"|倒班|轮班|三班倒|实习|转正|退休|创业|生意|开[了家个间]|店|兼职|副业|合同|客户|老板|领导|同事|办公室|工地"
    r"|厂|上班"
    r"|考勤|年假|产假|调休|职称|编制|考公|事业编|公务员|失败了|破产|投资|股票|基金"
)
_SCHOOL: Final = (
    r"学校|小学|学期|选[了课]|初[一二三中]|高[一二三中]|大[一二三四学]|研[一二三究]|博士|硕士|专业|论文|考研"
    r"|考试|高考|中考|期末|成绩|挂科"
    r"|及格|班主任|社团|校队|毕业|留学|奖学金|学费|补习|补课|幼儿园|宿舍|驾照|科目[一二三四]|四级|六级|雅思"
    r"|托福|证书|资格证|年级"
)
_HOME: Final = (
    r"房|租|搬|装修|贷|存款|存了|攒|欠|借|负债|车|摩托|手机|电脑|相机|平板|耳机|家具|沙发|阳台|花园"
    r"|小区|邻居|物业|宽带|保险|户口|签证|护照"
)
_PEOPLE: Final = (
    r"结婚|领证|离婚|分手|订婚|相亲|恋爱|谈了?过|女朋友|男朋友|前任|前男友|前女友|前夫|前妻|对象|单身|孩子|宝宝"
    r"|二胎|去世|过世|走了|不在了"
    r"|葬礼|忌日|生日|婚礼|催婚|彩礼|婆婆|公公|岳父|岳母|丈母娘|移民|来[找看]我|吵架|冷战|认识的|在一起"
    r"|养老院|保姆|单亲|收养|领养"
)
_LEISURE: Final = (
    r"瑜伽|跑步|马拉松|游泳|健身|撸铁|篮球|足球|羽毛球|乒乓球|网球|排球|台球|高尔夫|太极|广场舞|跳舞|舞蹈|街舞"
    r"|滑雪|滑板|冲浪|潜水|攀岩|骑行|骑车|爬山|登山|徒步"
    r"|露营|钓鱼|吉他|钢琴|小提琴|古筝|二胡|尤克里里|架子鼓|唱歌|合唱|乐队|画画|素描|油画|水彩|书法|摄影|拍照"
    r"|游戏|王者|原神|电竞|追剧"
    r"|[韩美日英国]剧|番|动漫|漫画|《|小说|综艺|播客|相声|脱口秀|话剧|音乐节|演唱会|旅游|旅行|自驾|出国|围棋"
    r"|象棋|桥牌|麻将|拼图|乐高|手办|盲盒|集邮|养花|种菜|多肉|烘焙|做饭"
    r"|做菜|日语|英语|法语|韩语|德语|粤语|西班牙语|编程|直播|自媒体|志愿|义工"
)
_FOOD: Final = (
    r"辣|香菜|咖啡|奶茶|啤酒|白酒|红酒|喝酒|酒量|茶|素|海鲜|牛奶|乳糖|甜食|甜品|火锅|烧烤|外卖|早餐"
    r"|早饭|宵夜|年夜饭|内脏|羊肉|牛肉|猪肉|水果"
)
_PETS: Final = r"猫|狗|仓鼠|兔子|鹦鹉|乌龟|金鱼|宠物|绝育|遛"
_PLACES: Final = (
    r"老家|外地|国外|乡下|农村|县城|[东西南北]方人|故乡|家乡|海边|北京|上海|广州|深圳|杭州|成都"
    r"|重庆|武汉|西安|南京|西藏|新疆|云南|日本|美国|英国|德国|法国"
)
_BELIEFS: Final = r"信佛|佛教|基督|天主|回族|清真|吃斋|党员|少数民族|星座|属相|本命年"
_TOPIC: Final = re.compile(
    f"{_HEALTH}|{_WORK}|{_SCHOOL}|{_HOME}|{_PEOPLE}|{_LEISURE}|{_FOOD}|{_PETS}|{_PLACES}|{_BELIEFS}"
)
_PASSES: Final = re.compile(
    r"[你您它]|^我?不是|^我们?(?:都|已经)?(?:认识|在一起).{0,6}$|^我\d{2,4}年|[他她]们|尽力|尽量|努力让"
    r"|的[不才]是|差点|差一点|叫了外卖|点了外卖|没在|这个|那个|这样|那样|这么|那么|这里|那里"
    r"|那[家儿边本部]|这件|那件|这些"
    r"|那些|怎么|什么|谁|哪|知道|明白|谢谢|抱歉|对不起|不好意思"
    r"|算了|随便|无所谓|没关系|不重要|(?<!最)(?<!要)好的|可以|应该|觉得|好想|有点想|想(?:喝|吃|睡|哭|静|听"
    r"|聊|问|说|象|起|念"
    r"|着|法|想|看看|死|不[通到出])|不想|懒得"
    r"|先去|先走|要?去(?:洗|吃|睡|忙|开会|上班|上课|遛|接|拿|取|买)|刚(?:刚|才)?(?:到家|下班|下课|吃|喝|醒|起床"
    r"|洗|看完|听完|开完|回|睡)"
    r"|(?<![业闲])正?在(?:吃|喝|路上|洗|等|排队|听|公司$|家$|上班$|加班$|开会|床上|地铁|公交)|等会|待会|一会儿?|回头"
    r"|马上就?(?:到|来|去|好)|快(?:到|好|下班)"
    r"|好(?:累|困|饿|烦|冷|热|疼|痛|难|无聊|开心|可爱|喜欢)|(?:累|困|饿|烦|笑|气|热|冷|吓|无聊)死|哈哈|呵呵"
    r"|裂开|破防|麻了|绷不住|笑不活|天气|下雨|下雪|堵车|迟到了|忘了|记得|记不|谢"
    r"|相信|(?<!不)同意|支持你|认为|希望|祝|保证|发誓|意思|道理|问题|话题|开始吧|继续|看到|看见|听到|听见|收到"
    r"|发现|梦|歌词|电视|新闻|视频|推荐"
    r"|(?:要|得|该|想|去)(?:睡|走|忙|吃饭|工作|上班|上课|开会|洗澡|休息)(?:了|啦)?$|(?:吃|喝)(?:饭|完|过|饱|多"
    r"|撑)?了$|[吧吗呢嘛]$|有点(?:难|累|困|饿|冷|热|烦)$"
)
_WHEN: Final = (
    r"(?:其实|反正|说来|大?前天|昨天|昨晚|今早|今天|今晚|早上|上午|中午|下午|晚上|上个?(?:周|月|礼拜|星期"
    r"|学期)末?[一二三四五六日天]?|前(?:两|几|些)天"
    r"|前阵子|前段时间|上半年|下半年|去年|前年|今年|年初|年底|月初|月底|春节|过年|国庆|五一|暑假|寒假|周末|终于"
    r"|又|刚刚?|才|已经|都|也|还|总算|好不容易)"
)
_LATELY: Final = re.compile(
    r"^(?:其实|反正|我们?|咱们)?(?:最近|这阵子|这段时间|这几天|这两天|这个?月|这学期|目前|现在|今年|去年|平时"
    r"|周末|下班后|晚上)(?:又|还|都|也|天天|一直|老|总|主要|基本|开始|正){0,4}"
    r"(?:在(?!家$|公司$|吃|等|路上|忙什么)(?=.{2})|迷上|爱上|沉迷|开始|忙着|报了|学|练|备考|失眠|住|跟|和|加班"
    r"|胖|瘦|老是?|总是?|一直|天天|经常|掉).{2,}"
)
_DROPPED: Final = re.compile(
    rf"^{_WHEN}{{1,6}}(?:(?:去|在|从|跟|和|被|把|给|因为)[^我你他她它]{{1,10}}?)?(?:检查出|看(?:了|牙|医生)"
    rf"|做了|拔了|打了|住院|出院|查出|确诊|骨折|摔|扭|感冒|发烧"
    r"|生病|买了|换了|卖了|租了|搬|装修|提了|领养|报了|报名|考[了过上完]|通过|毕业|入职|离职|辞职|辞了|被裁"
    r"|升职|面试|签了|加班|出差|分手|结婚|领证"
    r"|订婚|离婚|相亲|搬家|值|上完|学会|参加|跑了|爬了|去了|去过|回了?老家|丢了|弄丢|修|借|还清|欠)"
)
_MEASURED: Final = re.compile(
    r"^(?:就是|不过|结果|医生说|发现)?(?:血压|血糖|血脂|尿酸|胆固醇|甘油三酯|转氨酶|心率|体重|视力|骨密度"
    r"|血红蛋白|肝功能?|肾功能?)"
    r"(?:也|都|还|有点儿?|有些|稍微|一直|比较|略|太|又){0,4}(?:偏|超标|过)?(?:[高低快慢重轻]|不正常|不好|异常"
    r"|超标|下降|上升)(?:了|的)?$"
)
_HURT: Final = re.compile(
    r"^(?:结果|现在|就)?(?:右|左)?(?:手腕|手臂|胳膊|手指?|脚踝|脚|腿|小腿|膝盖|腰|肩膀?|脖子|肋骨|锁骨|韧带"
    r"|半月板|跟腱)(?:都|也|给|就)?"
    r"(?:骨折|扭[伤了]|断|伤|脱臼|拉伤|撕裂|发炎|肿|缝).{0,8}$"
)
_KNOWN: Final = (
    r"闺蜜|好?朋友|最好的朋友|哥们儿?|兄弟|发小|死党|室友|舍友|同桌|同事|同学|老板|领导|上司|组长|房东|邻居"
    r"|老师|导师|班主任|教练|徒弟|合伙人"
    r"|公公|婆婆|岳父|岳母|丈母娘|爸妈|父母|家人|亲戚|嫂子|姐夫|妹夫|弟媳|儿媳|女婿|外孙女?|孙子|孙女|姑妈|姑父"
    r"|姨父|姨夫|小姨|大姨|舅妈|伯父|伯母|大伯|表[哥姐弟妹]|堂[哥姐弟妹]"
)
_PET: Final = r"(?:[一-鿿]{0,2}(?:猫咪?|狗狗?|狗子)|仓鼠|兔子|鹦鹉|乌龟|金毛|柯基|柴犬|布偶|泰迪|哈士奇|边牧)"
_OWN_PERSON: Final = re.compile(
    rf"^(?:我们?|咱们?)(?:家)?(?:里)?(?:的)?(?:那个)?(?:大|小|二|三|亲|前|未来)?(?:{FAMILY}|{_KNOWN}"
    rf"|{_PET}|老[大二三]|[大小]?[娃崽]|俩娃)(?P<does>.{{2,30}})$"
)
_NO_OWN: Final = re.compile(
    r"^(?:[他她]|的(?:老婆|老公|朋友|同事|孩子|儿子|女儿|爸|妈|哥|姐|弟|妹|对象|男|女|邻居|老板)"
    r"|[、和跟与]我(?!.)|们?(?:都|也)?(?:说|觉得|问|让|叫我|认为)|的(?:话|意思|想法|问题|错)|真|好|太|很|超"
    r"|特别|非常|最)"
)
_BARE_PERSON: Final = re.compile(
    r"^(?:老公|老婆|爱人|媳妇儿?|先生|太太|男朋友|女朋友|男友|女友|对象|大?儿子|小儿子|大?女儿|小女儿|闺女|爸妈"
    r"|老爸|老妈|婆婆|公公|岳父|岳母|丈母娘|孩子|室友|闺蜜|家里人?|爷爷|奶奶|外公|外婆|姥姥|姥爷|爸爸?"
    r"|妈妈?|[哥姐弟妹][哥姐弟妹]?|最好的(?:朋友|兄弟|哥们|闺蜜)|发小|好哥们儿?|前任|前男友|前女友)"
    r"(?!们|说|觉得|问|让|太|真|好|很|的).{3,}"
)
_IS_OR_DOES: Final = re.compile(
    r"(?<=.)(?:是(?!不|吧|真|个好)[^我]{2,8}$|在(?!家|忙|睡|吃|叫)[^我]{1,8}(?:工作|上班|上学"
    r"|读[博研大高初]|留学|当|做|教|开|住|养老)|患|得了|考上|[一二三四五六七八九十\d]{1,3}岁"
    r"|属[鼠牛虎兔龙蛇马羊猴鸡狗猪])"
)
_OWN_PLACE: Final = re.compile(
    r"^(?:我|我们|咱们)(?:家|公司|单位|部门|学校|班|宿舍|小区|老家|村|组|团队|店)(?:里|上)?(?P<does>.{3,28})$"
)
_NAMED_DOES: Final = re.compile(
    rf"^我们?家(?!里|人|的|有|在|那|这)(?P<name>[一-鿿])(?P=name)(?:{_WHEN}|老|总|每天|特别|很){{0,4}}(?:把|会"
    rf"|不|吃|咬|拆|生病|病|绝育|打|掉|挠|跑|今年|[一二三四五六七八九十\d]).{{1,20}}$"
)
_OWES: Final = re.compile(
    r"^(?![你您他她它])[一-鿿]{2,3}(?:上次|上周|上个?月|去年|前天|昨天|还|一直|刚)*(?:(?:[跟找向问]我"
    r"|管我)借了?|欠我|还欠我|答应我|约我|请我).{2,}"
)
_AT_HOME: Final = re.compile(
    r"^(?:我?家里人?|爸妈|父母)(?:一直|老是?|总是?|都|又|天天|最近){1,4}(?:催|逼|让我|反对|不同意|给我|吵|劝"
    r"|想让).{1,20}$"
)
_COUNT: Final = r"(?:\d{1,6}|[一二两三四五六七八九十百千万几半多]{1,4})"
_CONCRETE: Final = re.compile(
    rf"(?:开始|在|去|报班)学.{{2}}|学了|学会|练了|把[^我]{{1,10}}(?:了|掉|好|进|到|成|给)"
    rf"|有{_COUNT}?[块条道双只辆台间套位名门颗枚顶副]|{_COUNT}(?:多|来"
    rf"|几)?(?:个?(?:小时|钟头|月|星期)|年|岁|天|块|元|斤|公里|双|只|本|辆|台|家|层|楼|次|遍)"
    r"|每(?:天|周|月|年|晚|早|次|个月|个周末|到)|必须|从不|从来|总是|老是|一直|习惯|离不开|特别(?:会|能|怕"
    r"|容易)|很(?:会|能|怕|容易|少)|不敢|不会|最(?:怕|拿手|擅长|讨厌)|一.{1,6}就"
    r"|(?:昨天|前天|上周|上个?月|去年|前几天|前两天|今早|昨晚|小时候|周末).{2,}[了过]"
    r"|[了过](?:一?[个条台本张只件部辆双]|个).{2,}|[月年][份初底]?(?:出)?生的?$"
)
_LOST: Final = re.compile(r"[没走]了$|怕[黑高水狗蛇生鬼]")
_WISH: Final = re.compile(
    r"^我们?(?:其实|真的|也|还)*(?:一直|从小|早|特别|做梦都?|超|很|好){1,4}(?:都|就)?(?:很)?想(?:要)?"
    r"(?:去|学|买|养|当|开|做|看一?[次场]|换|见|有|考|写|生|辞职|搬|尝试|试试)(?!看|什么|你).{2,}"
)
_PROMISED: Final = re.compile(
    rf"^我们?(?:已经|之前)?(?:答应|约)(?:了|好了?)?(?:我|的)*(?:{FAMILY}|{_KNOWN}|孩子们?)(?!了?$).{{3,}}"
)
_TIED: Final = re.compile(
    rf"^我们?(?:和|跟|与)我?(?:的|家)?(?:{FAMILY}|{_KNOWN})(?:是|从|在|都|已经|认识|合伙|合租|结|谈|吵|闹|冷战"
    rf"|好久|很久|异地|分居|住|关系|一起(?!去?(?:吃|看|逛))).{{2,}}"
)
_GOES_ON: Final = re.compile(
    r"^(?:现在|目前|后来|最近|今年|去年|刚|已经|一直|就|又|还){0,4}(?:自己(?:开|做|创业|带|住|租|一个人)|改行"
    r"|转行|转做|回老家|全职|待业|准备(?:考|结婚|搬|买|换|要)|打算(?:考|结婚|搬|买|换|去|年|明年)"
    r"|在(?:备孕|备考|找工作|待业|家待业|休产假|坐月子|化疗|康复|老家)|开了[一个家间]|天天(?:吃药|加班|失眠"
    r"|健身|跑步)).*$"
)
_ANSWERED: Final = re.compile(
    r"^我(?:是)?(?:真的?|一直|个人)?觉得(?P<what>[一-鿿]{2,6}?)(?:的味道|味)?(?:真的?|实在|特别|非常|超级?|太"
    r"|好|有点)(?P<how>难吃|难喝|难闻|恶心|臭|腥|膻|好吃|好喝|好听|好看|好玩)(?:了|的)?$"
)
_NOT_ANY_TASTE: Final = re.compile(r"[你您他她它我]|这|那|今天|昨天|刚才|食堂|外面|上次|也|都|还")
_BAD: Final = frozenset({"难吃", "难喝", "难闻", "恶心", "臭", "腥", "膻"})


def topics(clause: Clause) -> Iterator[Finding]:
    """Yield what a clause in which nothing else was found tells of the user or theirs, in its words; at most one."""
    text = clause.text.rstrip("啊呀啦哦呢") if clause.text.endswith("了") else without_particles(clause.text)
    if not _SHORTEST <= len(text) <= _LONGEST or _PASSES.search(clause.text):
        return
    if _is_of_theirs(text, clause):
        yield Finding(content=_said(text, clause), category="people")
    elif _is_of_user(text, clause):
        yield Finding(content=_said(text, clause))


def context(clause: Clause) -> str | None:
    """Return what a clause of the user's adds to what was told before it in the sentence, or None."""
    text = clause.text.rstrip("啊呀啦哦呢") if clause.text.endswith("了") else without_particles(clause.text)
    if clause.subject not in ("me", "none", "we") or not _SHORTEST < len(text) <= _LONGEST or _NO_CONTEXT.search(text):
        return None
    return re.sub(r"我们|咱们|(?<!自)我", "用户", without_idioms(text))


def plainly(clause: Clause) -> Iterator[Finding]:
    """Yield what a clause says of the user where nothing was found in its sentence, unless it is of the moment."""
    text = clause.text.rstrip("啊呀啦哦呢") if clause.text.endswith("了") else without_particles(clause.text)
    if clause.subject != "me" or clause.past or not _SHORTEST_PLAIN <= len(text) <= _LONGEST:
        return
    if _PASSES.search(text) or _NO_CONTEXT.search(text) or is_of_world(text) or _MOMENTARY.search(text):
        return
    yield Finding(content=_said(text, clause))


_SHORTEST_PLAIN: Final = 6
"""Characters."""
_MOMENTARY: Final = re.compile(
    r"[他她它]|主角|^我(?:们)?(?:又|才|也)?不是|^我(?:先|再|来|去|给|要(?!去.{2,}[学考读])|得|能|会|想|刚才"
    r"|刚刚?|马上|都快|说|问|是说|以为|等|试|看|听|讲|猜|发|打字|记|查|选|改|写的|用的|上[一次]|的)"
    r"|真是|服了|难了|饿|困|一杯|一份|另外|纸片|秦始皇|外星|机器人|成[了一].{0,4}(?:狗|神|仙|鬼)"
)


_NO_CONTEXT: Final = re.compile(
    r"[你您]|^别|告诉|^不要|^请|这个|那个|这样|那样|怎么|什么|谁|哪|谢谢|抱歉|不好意思|算了|随便|救|[吧吗呢嘛]$"
    r"|哈哈|呵呵|笑死"
    r"|裂开|破防|麻了|推荐|真的$"
    r"|^(?:真|好|太|可|超)[^像在]{1,4}$|^(?:烦|气|累|笑|急|愁)死|难受$|知道|明白|说实话|意思|天气|帮"
)
"""What a clause that goes on says to the listener, or of the moment."""


def opinion(said: str) -> Iterator[Finding]:
    """Yield a taste that is said as an opinion (我觉得榴莲太难闻了), which `claims` leaves out."""
    if (m := _ANSWERED.match(without_particles(said))) and not _NOT_ANY_TASTE.search(m["what"]):
        bad = m["how"] in _BAD
        thing = m["what"]
        yield profile("dislikes" if bad else "likes", thing, f"用户觉得{thing}{m['how']}")


def _is_of_theirs(text: str, clause: Clause) -> bool:
    if clause.subject == "other":
        if (m := _OWN_PERSON.match(text)) and not _NO_OWN.match(m["does"]):
            return (_TOPIC.search(m["does"]) or _LOST.search(m["does"])) is not None
        return _NAMED_DOES.match(text) is not None or _OWES.match(text) is not None
    if _AT_HOME.match(text):
        return True
    if clause.subject == "none" and _BARE_PERSON.match(text):
        return (_TOPIC.search(text, 2) or _IS_OR_DOES.search(text)) is not None
    return bool(clause.subject == "me" and (_PROMISED.match(text) or _TIED.match(text)))


def _is_of_user(text: str, clause: Clause) -> bool:
    if clause.subject == "other":
        m = _OWN_PLACE.match(text)
        return m is not None and _TOPIC.search(text) is not None
    if _MEASURED.match(text) or _HURT.match(text):
        return True
    if clause.subject == "none":
        return _is_unsaid(text)
    if "我" not in text and "咱" not in text:
        return clause.subject == "me" and _GOES_ON.match(text) is not None
    return any(known.search(text) for known in (_WISH, _TOPIC, _CONCRETE)) or tells_life(text.replace("我", "", 1))


def _is_unsaid(text: str) -> bool:
    """Return whether a clause without a subject tells of the user: nobody else, no order and no remark on the world."""
    if _LATELY.match(text) or _DROPPED.match(text):
        return _TOPIC.search(text) is not None
    if len(text) < _SHORTEST_UNSAID or is_of_world(text) or _NOT_OF_SELF.search(text) or _NO_CONTEXT.search(text):
        return False
    return _TOPIC.search(text) is not None or _CONCRETE.search(text) is not None


_SHORTEST_UNSAID: Final = 5
"""Characters."""
_NOT_OF_SELF: Final = re.compile(
    # somebody else, or people in general
    r"^(?:回答|回复|说话|解释|讲话)|^每.{0,12}[去来做]$|[这那][支个只家条位部本首场座句段]|最后一[天次周]"
    r"|(?:终于|又|就|快|都)?(?:到|来|过"
    r"|开始|结束)了$|^(?:走|跑|坐|开|到|回|从).{0,8}了$|^(?:隔壁|对门|楼上|楼下|前面|后面)|没电|主角|了没$"
    r"|^.{0,4}(?:邻居|同事|老板|领导|客户|房东|朋友|同学|室友"
    r"|人家|别人|大家|有人|人们|网友|老外|明星|演员|主角|男主|女主|导演)"
    r"|^(?:一般|很多|有些|有的|大多|现在|那些?)?(?:人|年轻人|女生|男生|女人|男人|程序员|老师|医生|大学生"
    r"|孩子们?|小孩|老人|父母|家长)(?!名)(?:都|会|多|就|应|要|"
    r"可|一般|为|的|[^我]{0,3}以后)"
    r"|^[小老阿][明红李王张刘陈]|[她他它你您咱]|剧里|电影|小说|书里|书上|歌|新闻|节目|视频里|游戏里|故事|历史|古代|传说"
    # orders
    r"|^(?:把|给(?!孩子|爸|妈|老|儿|女)|写|改|起个|取个|想个|来[个一点份首段]|换[个一种]|翻|总结|概括|列|举|讲"
    r"|说[一下个段]?|请|帮|生成|画[一个张]|做[一个张份]|润色|缩写|扩写|续写"
    r"|解释|分析|介绍|查|搜|算|比较|对比|扮演|模仿|假装|当(?:一|我的)|编|造|背|读一|念|推荐|设计|制定|安排|继续"
    r"|重新|再|别|不要|不用|语气|字数"
    r"|要求|主题|标题|内容|风格|格式|开头|结尾|背景|主人公)|^[用以按照].{1,10}(?:写|说|讲|回|翻|口吻|语气|风格"
    r"|格式|身份|总结|解释)"
    # questions without a mark, wishes and remarks on the world
    r"|多[大少久长高远]|干嘛|合适|是否|能.{1,8}不$|不[？?]?$|[吗呢吧嘛啊呀]$|为[何啥]|区别|办法|建议|方法|技巧"
    r"|推荐|攻略|教程"
    r"|^(?:等|如果|要是|假如|万一|只要|除非|无论|不管|即使|就算|难道|可惜|据|根据|按|关于|对于|至于|所谓|世界"
    r"|中国|美国|日本|国家|社会|公司(?!下)|房价|物价|股市|人生|生活|爱情|时间)"
    r"|堵|天气|下雨|下雪|真[的快好是]|太.{1,4}了|好[^了]{1,2}啊|成狗|成.{0,3}(?:狗|鬼|傻|条)|死了$|可能|也许"
    r"|应该|听说|据说|好像|感觉|觉得|希望|祝|一下$"
    r"|第一件事|比如|例如|意思|第[一二三四五六七八九十\d]{1,3}[步题章节段个条](?!孩)|上面|下面"
    r"|这[段句个道题篇首]|那[段句个道题篇首]"
)
"""What makes a clause without a subject somebody else's, an order, a question or a remark on the world."""


def _said(text: str, clause: Clause) -> str:
    """Return a clause in the third person; what leaves out the user names them."""
    told = re.sub(r"我们|咱们|(?<!自)我", "用户", without_idioms(text), count=1).replace("我", "用户")
    if "用户" in told:
        return told
    return f"用户的{told}" if clause.subject == "none" and _BARE_PERSON.match(text) else f"用户{told}"
