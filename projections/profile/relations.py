"""Relations and pets: which words of both languages may name the same person or animal."""

from __future__ import annotations

from typing import Final

from projections.text.analyser import fold, tokens
from projections.text.scripts import HAN

_SAME: Final = """
    mother mom mum mama mommy 妈妈 母亲 老妈 妈
    father dad papa daddy 爸爸 父亲 老爸 爸
    son 儿子
    daughter 女儿 闺女
    husband 老公 丈夫 先生
    wife 老婆 妻子 太太 媳妇
    boyfriend 男朋友 男友
    girlfriend 女朋友 女友
    fiance fiancee fiancé fiancée 未婚夫 未婚妻
    grandmother grandma granny 奶奶 外婆 姥姥
    grandfather grandpa granddad 爷爷 外公 姥爷
    friend buddy pal bestie 朋友 闺蜜 哥们 死党
    roommate flatmate 室友 舍友
    cat kitten kitty 猫 猫咪 小猫 布偶 橘猫
    dog puppy corgi labrador lab poodle beagle retriever husky 狗 狗狗 小狗 金毛 柯基 柴犬
    rabbit bunny 兔子 小兔
    hamster 仓鼠
    parrot bird 鹦鹉 鸟
    turtle tortoise 乌龟
    姐姐 大姐 二姐 姐
    妹妹 小妹 妹
    哥哥 大哥 二哥 哥
    弟弟 小弟 弟
    child kid baby 孩子 宝宝 小孩
    partner spouse 爱人 对象 伴侣
    parent 父母 爸妈
    sibling 兄弟姐妹
    pet 宠物
    anniversary 纪念日
    wedding 结婚 婚礼
"""
"""One line for each relation or animal."""
_KINDS: Final = """
    sister 姐姐 妹妹
    brother 哥哥 弟弟
    sibling sister brother 姐姐 妹妹 哥哥 弟弟
    parent mother father
    child son daughter
    partner husband wife boyfriend girlfriend fiance
    friend roommate
    pet cat dog rabbit hamster parrot turtle fish horse pony
"""
"""A wider word and the narrower words that it covers; a question may use either for the other."""


def _table() -> dict[str, frozenset[str]]:
    same = {word: frozenset(line.split()) for line in _SAME.split("\n") for word in line.split()}
    table = {word: set(words) for word, words in same.items()}
    for line in _KINDS.split("\n"):
        wide, *narrow = line.split() or [""]
        for word in narrow:
            for one in same.get(wide, frozenset({wide})):
                table.setdefault(one, {one}).update(same.get(word, frozenset({word})))
            for one in same.get(word, frozenset({word})):
                table.setdefault(one, {one}).update(same.get(wide, frozenset({wide})))
    return {word: frozenset(words) for word, words in table.items()}


_ALIKE: Final = _table()
_SHORTEST: Final = 2
"""The fewest characters of a relation that is found by its letters alone: 爸 occurs in other words too."""
RELATIONS: Final = tuple(word for word in _ALIKE if len(word) >= _SHORTEST)
"""The words for relations and pets, in both languages."""


def same_as(relation: str) -> frozenset[str]:
    """Return the words that may name the same person or animal as one of RELATIONS."""
    return _ALIKE[relation]


def mentions(text: str, said: str) -> bool:
    """Return whether a text mentions the named person or thing, by the same words or others for the same relation.

    Among several English words, the last one is the relation (`older sister`). All words of a name must occur.
    """
    folded, words = fold(text), frozenset(tokens(text))
    if HAN.search(said):
        return any(_stands_in(word, folded, words) for word in _alike_in_chinese(said))
    *_, last = parts = said.split() or [""]
    if alike := _ALIKE.get(last) or _ALIKE.get(last.removesuffix("s")):
        return any(_stands_in(word, folded, words) for word in alike)
    return all(_stands_in(part, folded, words) for part in parts)


def _alike_in_chinese(said: str) -> frozenset[str]:
    """Return the words for the relation at the end of a phrase: for 最好的朋友 those for 朋友."""
    for begin in range(len(said)):
        if alike := _ALIKE.get(said[begin:]):
            return alike
    return frozenset({said})


def _stands_in(word: str, folded: str, words: frozenset[str]) -> bool:
    return word in folded if HAN.search(word) else bool(words.intersection(tokens(word)))
