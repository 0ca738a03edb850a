"""What PowerMem's document has the system find out of its own sentences, found by the rules in the user's words."""

from __future__ import annotations

import pytest
from unit.streams.extraction.test_own_words import found as read

DOCUMENT = (
    ("我叫张三，在北京工作", [("user_name", "张三", "我叫张三，在北京工作")]),
    ("我叫张三，喜欢喝咖啡", [("user_name", "张三", "用户叫张三"), ("likes", "咖啡", "用户喜欢喝咖啡")]),
    ("我喜欢周末去爬山", [("likes", "爬山", "用户喜欢周末去爬山")]),
    ("我对科技新闻感兴趣", [("interests", "科技新闻", "用户对科技新闻感兴趣")]),
    ("我偏好简短的回复", [("communication_style", "简短", "用户偏好简短的回复")]),
    ("我的母语是中文", [("language", "中文", "用户的母语是中文")]),
)


@pytest.mark.parametrize(("said", "found"), DOCUMENT, ids=[said for said, _ in DOCUMENT])
def test_the_rules_find_what_powermems_document_finds(said: str, found: list[tuple[str | None, str | None, str]]):
    assert [(p.attribute, p.value, p.content) for p in read(said)] == found


@pytest.mark.parametrize(
    ("said", "attribute", "value"),
    [
        ("我喜欢早上的阳光", "likes", "早上的阳光"),
        ("我喜欢周末", "likes", "周末"),
        ("我喜欢晚上跑步", "likes", "跑步"),
        ("我不喜欢早上开会", "dislikes", "早上开会"),
    ],
)
def test_when_something_is_liked_is_no_part_of_the_thing(said: str, attribute: str, value: str):
    [found] = read(said)
    assert (found.attribute, found.value) == (attribute, value)
