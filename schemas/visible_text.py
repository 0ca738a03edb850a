"""Visible text: a text without the characters that models read and readers cannot see.

Tags (U+E0000 to E007F), bidirectional controls, zero width characters and runs of variation selectors can hide words
from a reader, or display other words. Every pattern here examines one character and its neighbours.
"""

from __future__ import annotations

import re
from typing import Final

_FORMAT: Final = (
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
"""Unicode's category Cf and all tags, without the joiners and the few characters that have a shape (U+0601 precedes a
year in Arabic)."""
_BLANK: Final = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
"""Letters and marks without any shape."""
_VARIATION: Final = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_JOINS: Final = "\u0590-\u1fff\ua840-\uabff"
"""Scripts in which a joiner changes the shape of letters: Arabic, those of India and their neighbours."""
_EMOJI: Final = "\u00a9\u00ae\u203c-\u3299\ufe0f\U0001f000-\U0001faff"
_UNSEEN: Final = re.compile(
    rf"(?<=[{_JOINS}])([\u200c\u200d])(?=[{_JOINS}])"
    rf"|(?<=[{_EMOJI}])(\u200d)(?=[{_EMOJI}])"
    rf"|[\u200c\u200d{_FORMAT}{_BLANK}]"
    rf"|(?<=[{_VARIATION}{_FORMAT}{_BLANK}])[{_VARIATION}]"
)


def visible(text: str) -> str:
    """Return the text without invisible characters; joiners stay between letters that need them and in emoji.

    Of several variation selectors, the first one stays. Flags that are encoded in tags become a plain flag.
    """
    return text if text.isascii() else _UNSEEN.sub(r"\1\2", text)
