"""Words that name an occupation: `I'm a …` and `我是…` alone say many other things too."""

from __future__ import annotations

import re
from typing import Final

_CHINESE = re.compile(
    r"[一-鿿A-Za-z]{0,8}?(?:程序[员媛]|工程师|[一-鿿]{0,3}(?<!大)(?<!法)(?<!祖)师|柜员|文员|文案|行政|前台"
    r"|采购|跟单|审计|财务|主管|总监|护工|月嫂|保洁|服务员|收银员|营业员|业务员|导购|中介|骑手|讲师|助教"
    r"|博士后|辅导员|校长|美工|模特|个体户|焊工|钳工|民警|辅警|法务|检察官|交易员|主持人|剪辑|海员|乘务员"
    r"|机长|网约车司机|产品经理|项目经理|经理|老师|教师|教授|医生|大夫|护士|律师|"
    r"设计师|会计|出纳|厨师|司机|公务员|记者|作家"
    r"|画家|画师|插画师|摄影师|警察|军人|消防员|演员|歌手|音乐人|翻译|编辑|码农|程序猿|大学生|研究生|"
    r"博士生|高中生|中学生|学生|快递员|外卖员"
    r"|自由职业者?|销售|运营|策划|顾问|分析师|建筑师|药剂师|理发师|健身教练|教练|农民|工人|飞行员|空姐|"
    r"法官|研究员|科学家|博主|up主|主播"
    r"|(?:前端|后端|软件|游戏|移动)开发|(?:建筑|平面|室内|服装|工业|交互|UI)设计|导游|店长|创业者|架构师"
    r"|前端|后端|测试|全职妈妈|家庭主妇|实习生|客服|保安|电工|木工|裁缝|咖啡师|"
    r"心理咨询师|咨询师|导演|编剧|HR)"
)
_ENGLISH = re.compile(
    r"(?:accountant|actor|actress|actuary|administrator|analyst|architect|artist|attorney|author|baker|banker|barber"
    r"|barista|bartender|biologist|bookkeeper|builder|butcher|carpenter|cashier|chef|chemist|cleaner|coach|comedian"
    r"|composer|consultant|contractor|cook|copywriter|counsell?or|dancer|dentist|designer|developer|dietitian|director"
    r"|doctor|driver|economist|editor|electrician|engineer|entrepreneur|farmer|filmmaker|firefighter|florist|freelancer"
    r"|gardener|geologist|hairdresser|historian|illustrator|instructor|interpreter|janitor|journalist|judge|lawyer"
    r"|lecturer|librarian|machinist|manager|mathematician|mechanic|midwife|musician|nanny|nurse|optician|painter"
    r"|paralegal|paramedic|pharmacist|photographer|physicist|physiotherapist|pilot|plumber|police officer"
    r"|postdoc|principal|producer|product owner|professor|programmer|psychiatrist|psychologist|realtor|receptionist"
    r"|recruiter|reporter|researcher|sailor|salesman|salesperson|saleswoman|scientist|sculptor|secretary|singer"
    r"|social worker|stay-at-home (?:mom|mum|dad|parent|mother|father)|homemaker|housewife"
    r"|soldier|statistician|student|surgeon|surveyor|sysadmin|tailor|teacher|technician|therapist"
    r"|bin ?man|dinner lady|lollipop lady|cabin crew|taxi driver|deckhand|groom|farmhand|stagehand|undertaker"
    r"|butler|chimney sweep"
    r"|signwriter|upholsterer|seamstress|milliner|sommelier|croupier|ecologist|botanist|archaeologist|archivist|curator"
    r"|lumberjack|arborist|landscaper|glazier|tiler|scaffolder|binman|usher|bouncer|bricklayer|roofer|joiner"
    r"|decorator|plasterer|courier|postman|postie|fisherman|rancher"
    r"|beekeeper|brewer|jeweller|locksmith|miner|dispatcher|clerk|intern|lifeguard|referee|priest|pastor"
    r"|civil servant|diplomat|streamer|youtuber|blogger|stylist|beautician|dog walker|ranger|broker"
    r"|underwriter|auditor|flight attendant|trucker|handyman|caretaker|carer|caregiver|childminder|au pair"
    r"|headteacher|(?:software|web) dev\b|vet tech|lab tech|data scientist|paediatrician|pediatrician"
    r"|cardiologist|anaesthetist|radiologist|radiographer|optometrist|chiropractor|osteopath|barrister"
    r"|solicitor|notary|estate agent|travel agent|brewer|DJ|trader|trainer|translator|truck driver|tutor"
    r"|undergrad|veterinarian|vet|waiter|waitress|welder|writer)",
    re.IGNORECASE,
)
_NO_MORE = re.compile(r"\b(?:former|retired|ex|aspiring|would-be|future|unemployed|failed|wannabe)\b", re.IGNORECASE)
_ENGLISH_LONGEST: Final = 5
"""Words of an occupation: `senior data science team manager`."""


def chinese_occupation(text: str) -> str | None:
    """Return the occupation that a whole text is, without 一名 or 一个; None for anything else."""
    bare = re.sub(r"^(?:一[名位个]|[名位个])", "", text)
    # 当过老师 and 当了十年老师 may be over.
    return bare if _CHINESE.fullmatch(bare) and not re.match(r"[过了着不没]|退休|未来", bare) else None


def english_occupation(text: str) -> str | None:
    """Return the occupation that a noun phrase without its article is; None when its last word names none."""
    words = text.split()
    match = _ENGLISH.search(text)
    while match and match.end() != len(text):
        match = _ENGLISH.search(text, match.end())
    if _NO_MORE.search(text):
        return None
    if not match or len(words) > _ENGLISH_LONGEST or (match.start() and text[match.start() - 1] != " "):
        return None
    return text
