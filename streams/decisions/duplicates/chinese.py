"""Harmless differences between Chinese texts: particles, intensity words, polite words and variants.

There is no segmenter: a character counts as harmless only if its neighbours rule out the words in which it has a
meaning (都 in 成都, 很 in 很少, 了 in 了解, 的 in 我的确).
"""

from __future__ import annotations

import re

_MARK = r"[\s,.!;:。、~…)\]”’」』》]"
_CLAUSE_END = rf"(?={_MARK}|$)"
_GOES_ON = rf"(?!{_MARK}|$)"
_FELT = (
    "(?:不?(?:喜欢|喜爱|热爱|讨厌|想|高兴|开心|快乐|难过|伤心|期待|满意|感谢|感激|害怕|担心|紧张|激动|兴奋|放松"
    "|焦虑|孤独|舒服|累|困|忙|棒|漂亮|好|热|冷|重要|重视|羡慕|佩服|欣赏|享受|辛苦|努力|有趣|有意思)|爱(?!人|好))"
)
_STRONGLY = (
    rf"(?:很{_GOES_ON}(?![少多久快小])|非常{_GOES_ON}(?![规时态任少多])"
    rf"|(?:特别|十分|相当|超级|极其|格外|挺|蛮|真的?|好(?!好))(?={_FELT}))"
)

_HARMLESS = re.compile(
    rf"真的(?=(?:很|非常|特别|挺|十分|超级|好){_FELT})"
    rf"|是(?={_STRONGLY})(?<![不但可还总于只就要或若老凡而便算更最像倒]是)"
    rf"|{_STRONGLY}"
    rf"|也{_GOES_ON}(?![门许罢])"
    rf"|(?<![首成京古建国故帝新花丰东西南北])都{_GOES_ON}(?![市会城江灵])"
    r"|(?:(?<=[我你您他她它们咱])|(?<=用户))的(?=[\u4e00-\u9fff])(?![确士话是])"
    rf"|(?<![不得没为除])了(?=[啊呀哦啦哈]?(?:{_MARK}|$))"
    rf"|[啊呀哦啦嘛哟喔呐]{_CLAUSE_END}"
    # a negation covers the rest of its clause, which stays unchanged
    r"|(?P<negated>[不没無无未非别勿莫][^\s,.!?;:。、]*)"
)

_OPENINGS = re.compile(
    r"^\s*(?:(?:嗯+|恩+|哦+|啊+|哈哈+|嘿嘿+|呵呵+|嗨|嘿|哇|哎呀?|唉|是啊|对啊|好的)\s*[,.!。~…、]+\s*)+"
    r"|^\s*请(?=叫我|记住|记得|帮我|告诉)"
)
_THANKS = re.compile(r"[,.!。] ?(?:谢谢|多谢|感谢)[你您]?[啊呀啦]?[.!。~]*$")

_VARIANTS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        ("您", "你"),
        ("父亲", "爸爸"),
        ("母亲", "妈妈"),
        ("但是|可是|然而", "但"),
        ("以及|与|及", "和"),
        ("由于", "因为"),
        ("于", "在"),
        ("目前", "现在"),
        ("逝世", "去世"),
        ("星期|礼拜", "周"),
        ("周天", "周日"),
        ("成为了", "成为"),
    )
)
_NUMERALS = "〇零一二两三四五六七八九十百千万亿"
_LONE_NUMERAL = re.compile(rf"(?<![{_NUMERALS}\d.])[一二两三四五六七八九十](?![{_NUMERALS}\d])")
_DIGITS = {"两": "2", "十": "10"} | {numeral: str(value) for value, numeral in enumerate("一二三四五六七八九", start=1)}


def without_harmless_chinese(text: str) -> str:
    """Return an NFKC text without its harmless Chinese words, and lone numerals as digits; other text is unchanged.

    After a negation, all words stay up to the end of the clause: 不是很喜欢 is weaker than 不喜欢, 不都去 is not
    都不去, and 不喝酒了 (no longer) is not 不喝酒.
    """
    if text.isascii():
        return text
    text = _THANKS.sub("", _OPENINGS.sub("", text))
    text = _HARMLESS.sub(lambda match: match["negated"] or "", text)
    for pattern, replacement in _VARIANTS:
        text = pattern.sub(replacement, text)
    return _LONE_NUMERAL.sub(lambda numeral: f" {_DIGITS[numeral[0]]} ", text)
