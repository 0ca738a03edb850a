"""Users with canaries: each of their fields has a word of its own, by which every copy of the field can be found."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from typing import Any

PLACES = {
    "turn": "Vexleyham", "name": "Quirinius", "street": "紫藤巷", "screenshot": "Zorblattia", "app": "Tressolage",
    "title": "Gantrophe", "article": "Plimwicket", "memory": "Mirvandel", "metadata": "Yalquist", "revised": "Bexomoor",
    "reminder": "Dranfolio", "letter": "Kloverneau", "answer": "Ximbertwo", "caption": "Osterquill",
    "open": "Hulverwick", "rejected": "Jandelmoss", "speaker": "Ambrosell", "mood": "Wistfuldrey",
    "scene": "Cloverhythe", "gift": "Brindlecomb", "summary": "Inglethorpe",
}  # fmt: skip
"""The beginning of each field's word; the user's number follows it."""
PNG = b"\x89PNG\r\n\x1a\n"
_NUMBERED = re.compile(r"(Tressolage|Vexleyham|Zorblattia|Plimwicket|Jandelmoss|Hulverwick)(\d{3})")


def user(number: int) -> str:
    """Return a user's id, which is a canary too."""
    return f"Fennimore{number:03}"


def word(place: str, number: int) -> str:
    """Return the word in one field of a user."""
    return f"{PLACES[place]}{number:03}"


def words(number: int) -> list[str]:
    """Return all words of a user except the id."""
    return [word(place, number) for place in PLACES]


def published(number: int) -> list[dict[str, Any]]:
    """Return an event of every kind; the words of the picture stand only in the model's answer to it."""
    own, image = user(number), PNG + number.to_bytes(2) + bytes(30)
    of_user = {"user_id": own, "relevance": "high"}
    said = f"My name is {word('name', number)} and I live in {word('turn', number)}. 我住在{word('street', number)}。"
    return [
        {"type": "TurnRecorded", "event_id": f"t-{own}", "user_id": own, "session_id": "s1", "role": "user",
         "name": word("speaker", number), "content": said, "metadata": {"note": word("metadata", number)},
         "context": {place: word(place, number) for place in ("mood", "scene", "gift")}},
        {"type": "ScreenshotAnalysed", "event_id": f"p-{own}", "screenshot_id": "IMG_1", "app": word("app", number),
         "text": f"Meeting at {word('screenshot', number)}", "summary": word("summary", number), **of_user},
        {"type": "ScreenshotAnalysed", "event_id": f"i-{own}", "app": word("app", number),
         "image": b64encode(image).decode(), **of_user},
        {"type": "ArticleInferred", "event_id": f"a-{own}", "user_id": own, "article_id": "A1",
         "title": word("title", number), "content": f"Project: {word('article', number)}"},
    ]  # fmt: skip


def answers(lines: list[tuple[int, str]]) -> list[dict[str, Any]]:
    """Return a model's answer to numbered lines, which repeats their words and adds one."""
    found = []
    for line, text in lines:
        named = _NUMBERED.search(text)
        number = int(named[2]) if named else 0
        found.append({"content": f"{text}, which is {word('answer', number)}", "sources": [line]})
    return found


def caption(url: str) -> list[dict[str, Any]]:
    """Return a model's answer to a user's picture, which it is shown by a data URL."""
    image = b64decode(url.partition(",")[2])
    number = int.from_bytes(image[len(PNG) : len(PNG) + 2])
    return [{"content": f"The picture shows {word('caption', number)}", "sources": [1]}]


def letter(number: int) -> bytes:
    """Return bytes that cannot be decoded, so that a dead letter keeps them."""
    return f"\0{word('letter', number)} is no event".encode()
