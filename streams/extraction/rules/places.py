"""Cities. In Chinese only a name on this list, or one that ends with 市, is taken for a city."""

from __future__ import annotations

import re
from typing import Final

_CHINESE: Final = (
    "北京 上海 天津 重庆 广州 深圳 成都 杭州 武汉 西安 南京 苏州 郑州 长沙 沈阳 青岛 "
    "宁波 东莞 无锡 佛山 合肥 大连 福州 厦门 哈尔滨 济南 温州 南宁 长春 泉州 石家庄 "
    "贵阳 南昌 金华 常州 惠州 嘉兴 南通 徐州 太原 珠海 中山 保定 兰州 台州 绍兴 烟台 "
    "廊坊 洛阳 潍坊 呼和浩特 乌鲁木齐 海口 三亚 昆明 大理 丽江 银川 西宁 拉萨 扬州 镇江 "
    "盐城 泰州 汕头 湛江 江门 柳州 桂林 绵阳 宜昌 襄阳 岳阳 株洲 湘潭 衡阳 芜湖 蚌埠 "
    "马鞍山 赣州 九江 漳州 莆田 威海 临沂 淄博 济宁 泰安 唐山 秦皇岛 邯郸 大同 包头 "
    "鞍山 吉林市 大庆 齐齐哈尔 遵义 义乌 昆山 香港 澳门 台北 高雄 台中 台南 新竹 东京 "
    "大阪 京都 横滨 首尔 釜山 新加坡 曼谷 吉隆坡 巴黎 伦敦 柏林 慕尼黑 法兰克福 罗马 "
    "米兰 马德里 巴塞罗那 阿姆斯特丹 维也纳 苏黎世 日内瓦 莫斯科 纽约 洛杉矶 旧金山 西雅图 "
    "波士顿 芝加哥 华盛顿 休斯顿 温哥华 多伦多 蒙特利尔 悉尼 墨尔本 布里斯班 奥克兰 迪拜 "
    "胡志明市 河内 雅加达 马尼拉 孟买 "
)
CHINESE_CITIES: Final = frozenset(_CHINESE.split())
_LONGEST: Final = max(map(len, CHINESE_CITIES))
_SPELT = re.compile(r"[一-鿿]{2,4}(?<![这那哪个座全每大小门超夜城])市(?![场区民中里])")
_OTHER: Final = (
    "God Jesus Java Python English French Spanish German Chinese Japanese Monday Tuesday Wednesday Thursday Friday "
    "Saturday Sunday January February March April May June July August September October November December"
    " Christmas Easter"
)
_COUNTRY: Final = (
    "America,Argentina,Australia,Austria,Bavaria,Belgium,Brazil,Britain,Bulgaria,California,Canada,"
    "Chile,China,Colombia,Croatia,Cyprus,Denmark,Egypt,England,Estonia,Europe,Finland,Florida,France,"
    "Georgia,Germany,Greece,Hungary,Iceland,India,Indonesia,Iran,Iraq,Ireland,Israel,Italy,Japan,"
    "Jordan,Kenya,Korea,Latvia,Lithuania,Malaysia,Mexico,Morocco,Nepal,Netherlands,New Zealand,"
    "Nigeria,Northern Ireland,Norway,Pakistan,Peru,Philippines,Poland,Portugal,Romania,Russia,"
    "Saudi Arabia,Scotland,Serbia,Slovakia,Slovenia,South Africa,South Korea,Spain,Sri Lanka,Sweden,"
    "Switzerland,Taiwan,Texas,Thailand,Turkey,UAE,UK,US,USA,Ukraine,United Kingdom,United States,"
    "Vietnam,Wales"
)
_COUNTRIES: Final = frozenset(_COUNTRY.split(","))
"""Countries and large regions, which are no cities; names of both (Singapore, Luxembourg) are left out."""
_NO_PLACE: Final = frozenset(_OTHER.split())


def chinese_city(text: str) -> str | None:
    """Return the city that a text begins with, without 市; None when it begins with none."""
    for length in range(min(_LONGEST, len(text)), 1, -1):
        if text[:length] in CHINESE_CITIES:
            return text[:length]
    match = _SPELT.match(text)
    return match.group()[:-1] if match else None


_LATIN = re.compile(r"[A-Z][a-z]{2,14}(?: [A-Z][a-z]{2,14}){0,2}(?![A-Za-z0-9])")


def latin_city(text: str) -> str | None:
    """Return the city that a Chinese text about a home begins with in Latin letters; None where there is none."""
    match = _LATIN.match(text)
    return match.group() if match and english_city(match.group()) and not is_country(match.group()) else None


def is_country(name: str) -> bool:
    """Return whether a name is a country's, or a large region's."""
    return name in _COUNTRIES


def english_city(name: str) -> bool:
    """Return whether capitalised words may be a city's name: not a language, weekday, month or feast."""
    return not any(word in _NO_PLACE for word in name.split())
