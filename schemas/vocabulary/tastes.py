"""Words of liking and disliking, and whether a text contains one of them."""

from __future__ import annotations

import re
from typing import Final

_TASTE: Final = re.compile(
    r"\b(?:lik(?:e[sd]?|ing)|lov(?:e[sd]?|ing)|ador(?:e[sd]?|ing)|enjoy\w*|prefer\w*|fan|fond|favou?rites?|into|crazy"
    r"|obsessed|addicted|keen|hat(?:e[sd]?|ing)|dislike\w*|detest\w*|loathe\w*|stand|bear|tolerate|avoid\w*|sick|tired"
    r"|disgust\w*|annoy\w*|mad|passion\w*|appreciate\w*|wild|weakness|can't get enough|headache|gross|awful|delicious"
    r"|best|worst|never|don't|doesn't|not)\b"
    r"|喜欢|爱|偏好|最[爱喜]|迷|热衷|钟[爱情]|讨厌|不喜|受不了|反感|厌|怕|嫌|恨|吃不惯|不吃|不喝|不爱|好吃|好喝|过瘾|头疼|上瘾|着迷|忌口|习惯",
    re.IGNORECASE,
)


def says_taste(text: str) -> bool:
    """Return whether a text says that somebody likes or dislikes something."""
    return _TASTE.search(text) is not None
