"""Relations: the words for relatives, friends and pets, each with the one word that facts about them use."""

from __future__ import annotations

import re
from typing import Final

_SAME: Final = """
    mother mum mom mummy mommy mama, father dad daddy papa, grandmother grandma granny gran nana nan,
    grandfather grandpa granddad grandad, husband hubby, girlfriend gf, boyfriend bf, fiancée fiancee, fiancé fiance,
    brother bro, sister sis, aunt auntie aunty, roommate flatmate housemate, neighbour neighbor,
    colleague coworker co-worker workmate, friend mate buddy pal bestie, dog puppy pup, cat kitten kitty,
    rabbit bunny, older elder big, younger little small, 妈妈 妈 老妈 母亲 妈咪, 爸爸 爸 老爸 父亲, 奶奶 祖母,
    爷爷 祖父, 外婆 姥姥, 外公 姥爷, 老公 丈夫, 老婆 妻子 太太 媳妇, 男朋友 男友, 女朋友 女友, 女儿 闺女, 哥哥 哥,
    姐姐 姐, 弟弟 弟, 妹妹 妹, 舅舅 舅, 叔叔 叔, 姑姑 姑, 室友 舍友, 朋友 好朋友, 狗 狗狗 小狗,
    猫 猫咪 小猫, 兔子 小兔
"""
"""Groups of words with one meaning, separated by commas; the first word of a group is the one that is kept."""
CANONICAL: Final = {word: words.split()[0] for words in _SAME.split(",") for word in words.split()}
_ONLY: Final = """
    mother father husband wife girlfriend boyfriend fiancée fiancé partner spouse landlord landlady boss
    stepmother stepfather mother-in-law father-in-law
    妈妈 爸爸 老公 老婆 男朋友 女朋友 未婚夫 未婚妻 房东 老板 岳父 岳母 婆婆 公公 对象 继父 继母
"""
ONLY: Final = frozenset(_ONLY.split())
"""Relations of which a person has one: a name adds nothing."""
_SOME: Final = """
    brother sister son daughter grandmother grandfather manager therapist doctor dentist child grandson
    granddaughter brother-in-law sister-in-law dog cat rabbit hamster parrot horse pony tortoise roommate
    哥哥 姐姐 弟弟 妹妹 大哥 二哥 大姐 二姐 儿子 大儿子 小儿子 女儿 大女儿 小女儿 奶奶 爷爷 外婆 外公 孙子 孙女
    狗 猫 兔子 仓鼠 鹦鹉 领导 室友 孩子
"""
SOME: Final = frozenset(_SOME.split())
"""Relations of which a person may have several: a name tells them apart."""
_MANY: Final = """
    friend colleague neighbour cousin aunt uncle niece nephew classmate
    朋友 同事 同学 邻居 闺蜜 堂哥 表哥 表姐 表弟 表妹 堂姐 堂弟 堂妹 舅舅 叔叔 姑姑 阿姨 侄子 侄女
"""
MANY: Final = frozenset(_MANY.split())
"""Relations of which a person has several: without a name it is not known which one is meant."""
_OWN_KIN: Final = re.compile(r"(?:我们?|咱们?|俺)家?的?(?=.)")


def same_relation(name: str) -> str:
    """Return a name with its words for relations as they are kept: `mum` becomes `mother`, and 我妈 becomes 妈妈."""
    own = _OWN_KIN.match(name)
    kin = name[own.end() :] if own else name
    if kin in CANONICAL or kin in ONLY or kin in SOME:
        return CANONICAL.get(kin, kin)
    return " ".join(CANONICAL.get(word, word) for word in name.split(" "))
