"""A context's plain text: in the user's language, without empty labels, within its tokens, stable where it may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.tables import each

from projections.profile.profile import profile
from projections.queries.context_text import ContextLines
from projections.text.measure import rough_tokens
from schemas.instant import read_instant

if TYPE_CHECKING:
    from projections.queries.context_text import Language

NOBODY = profile([], read_instant("2026-03-01T12:00:00Z"))
KNOWN: dict[str, Any] = {
    **NOBODY,
    "user_name": "Mira",
    "city": "Basel",
    "likes": ["tea", "boats"],
    "allergies": ["peanuts"],
    "important_dates": {"wedding": "2020-05-01"},
    "other": {"shoe_size": "39"},
}


def lines(**more: Any) -> ContextLines:
    parts: dict[str, Any] = {"profile": None, "coming": [], "important": [], "relevant": [], "said": []}
    return ContextLines(spell=lambda _, value: value, **(parts | more))


def test_nothing_known_is_nothing_said():
    assert lines().text("en", 800) == lines(profile=NOBODY).text("zh", 800) == ""


def test_what_seldom_changes_stands_first_and_no_label_is_empty():
    text = lines(
        profile=KNOWN, coming=["- 2026-03-04 dentist"], relevant=["- sails a dinghy"], said=["- 2026-02-01 I sail!"]
    ).text("en", 800)
    assert text.split("\n") == [
        "About the user:",
        "- name: Mira",
        "- allergies: peanuts",
        "- city: Basel",
        "- likes: tea, boats",
        "- important dates: wedding 2020-05-01",
        "- shoe size: 39",
        "",
        "Coming up:",
        "- 2026-03-04 dentist",
        "",
        "About this message:",
        "- sails a dinghy",
        "",
        "Said before:",
        "- 2026-02-01 I sail!",
    ]


def test_headings_and_labels_are_in_the_users_language():
    text = lines(profile=KNOWN, important=["- 住在巴塞尔"]).text("zh", 800)
    assert text.startswith("关于用户:\n- 名字：Mira\n- 过敏：peanuts\n")
    assert "值得记住:" in text


@each("language", ["en", "zh"])
def test_it_keeps_within_its_tokens_and_the_profile_goes_first(language: Language):
    many = {
        part: [f"- {part} number {n} of a kind {n * 7919}" for n in range(60)] for part in ("important", "relevant")
    }
    for most in (1, 20, 60, 200, 800):
        text = lines(profile=KNOWN, **many).text(language, most)
        assert rough_tokens(text) <= most + 2
        assert ("Mira" in text) == (most >= 20)
    tight = lines(profile=KNOWN, **many).text("en", 120)
    assert "relevant" in tight
    assert tight.count("relevant number") > tight.count("important number") > 0


def test_what_says_nothing_new_is_folded():
    text = lines(
        important=["- rides a red bicycle to work", "- sings"], relevant=["- 2026-11-29 rides a red bicycle"]
    ).text("en", 800)
    assert text.count("bicycle") == 1
    assert "sings" in text


def test_what_changes_behind_leaves_what_stands_before_as_it_is():
    one, two = (lines(profile=KNOWN, relevant=[fits]).text("en", 800) for fits in ("- sings", "- swims"))
    assert one.partition("About this message")[0] == two.partition("About this message")[0] != ""


def test_what_was_found_for_a_message_does_not_change_how_the_context_begins():
    important = [f"- fact {n} of a kind {n * 7919}" for n in range(60)]
    texts = [
        lines(profile=KNOWN, important=important, relevant=relevant).text("en", 200)
        for relevant in ([], ["- fact 3 of a kind 23757"], [f"- answer {n} about {n * 104729}" for n in range(60)])
    ]
    beginning = texts[0]
    assert all(text.startswith(beginning) for text in texts)


def test_counts_of_how_the_user_talks_are_left_out():
    profile = KNOWN | {"usage_patterns": ["talks mostly in the evening (3 of 3 turns)"]}
    assert "turns" not in lines(profile=profile).text("en", 800)
