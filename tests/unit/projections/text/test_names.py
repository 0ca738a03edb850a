"""Names in what is remembered: what one does, and how much, are no places; a name is one with and without kin."""

from __future__ import annotations

from support.tables import each

from projections.text.names import names_in, without_kin


@each(
    ("text", "names"),
    [
        ("用户喜欢去爬山", []),
        ("用户周末去香山徒步", [("香山", "place")]),
        ("用户上周去打疫苗", []),
        ("用户的工资涨到三万", []),
        ("用户明天去参加婚礼", []),
        ("用户去看医生", []),
        ("用户去上海", [("上海", "place")]),
        ("用户搬到三亚", [("三亚", "place")]),
        ("用户去过九寨沟", [("九寨沟", "place")]),
        ("用户来自四川", [("四川", "place")]),
        ("用户去成都出差", [("成都", "place")]),
        ("User works at St. Mary's Hospital", [("St. Mary's Hospital", "organisation")]),
        ("User moved to St. Louis", [("St. Louis", "place")]),
        ("User works at Casa Lima", [("Casa Lima", "organisation")]),
    ],
)
def test_a_place_is_where_one_goes_and_not_what_one_does(text: str, names: list[tuple[str, str]]):
    assert sorted({(one.name, one.kind) for one in names_in(text)}) == names


@each(
    ("value", "name"),
    [
        ("男朋友陈浩", "陈浩"),
        ("妈妈王芳", "王芳"),
        ("老婆Mei", "Mei"),
        ("女儿", "女儿"),
        ("老师傅", "老师傅"),
        ("陈浩", "陈浩"),
    ],
)
def test_a_name_stands_without_the_word_for_kin(value: str, name: str):
    assert without_kin(value) == name
