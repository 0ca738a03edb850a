"""Near duplicates: the pairs that must merge and those that must not, and what each condition does."""

from __future__ import annotations

from pathlib import Path

from support.tables import each

from streams.decisions.duplicates.equivalence import same_statement, skeleton
from streams.decisions.duplicates.similarity import SIMILARITY, keywords, near_duplicate, overlap

PAIRS = [
    line.split("\t")
    for line in (Path(__file__).parents[3] / "data" / "pairs.tsv").read_text(encoding="utf-8").splitlines()
]
SAME = [(a, b) for a, b, same in PAIRS if same == "1"]
DIFFERENT = [(a, b) for a, b, same in PAIRS if same == "0"]


@each(("a", "b"), SAME)
def test_what_differs_in_harmless_words_merges_either_way_round(a: str, b: str) -> None:
    assert near_duplicate(a, b, 0.95)
    assert near_duplicate(b, a, 0.95)


@each(("a", "b"), DIFFERENT)
def test_what_differs_in_content_never_merges_however_alike_it_looks(a: str, b: str) -> None:
    assert not near_duplicate(a, b, 1.0, keyword_overlap=0.0)
    assert not near_duplicate(b, a, 1.0, keyword_overlap=0.0)


def test_a_low_cosine_refuses_what_the_words_allow() -> None:
    assert near_duplicate("User likes coffee", "The user really likes coffee", SIMILARITY)
    assert not near_duplicate("User likes coffee", "The user really likes coffee", SIMILARITY - 0.01)


def test_without_a_cosine_the_words_must_be_closer() -> None:
    """我喜欢猫 shares two of its three bigrams: enough beside a cosine, not alone."""
    assert near_duplicate("我喜欢猫", "我很喜欢猫", 0.95)
    assert not near_duplicate("我喜欢猫", "我很喜欢猫", None)
    assert near_duplicate("用户喜欢喝咖啡", "用户很喜欢喝咖啡", None)


def test_the_setting_can_ask_for_more_overlap() -> None:
    assert not near_duplicate("我喜欢猫", "我很喜欢猫", 0.95, keyword_overlap=0.7)


def test_exact_duplicates_need_no_cosine() -> None:
    assert near_duplicate("USER LIKES COFFEE", "User likes coffee.", 0.1)


def test_texts_of_harmless_words_only_say_nothing_that_could_be_the_same() -> None:
    assert not same_statement("really", "very")
    assert not same_statement("很", "非常")


def test_the_skeleton_keeps_content_in_order() -> None:
    assert skeleton("The user really doesn't like 3 cats.").words == ("user", "do", "not", "like", "3", "cats")
    assert skeleton("用户也很喜欢Python").words == ("用", "户", "喜", "欢", "python")


def test_overlap_is_the_share_of_the_smaller_set() -> None:
    assert overlap(frozenset({"tea", "home"}), frozenset({"tea", "cake", "home"})) == 1.0
    assert overlap(frozenset({"tea", "cup"}), frozenset({"tea", "cake", "home"})) == 0.5
    assert overlap(frozenset({"tea"}), frozenset({"cake"})) == 0.0


def test_overlap_of_nothing_with_something_is_none_and_with_nothing_is_all() -> None:
    assert overlap(frozenset(), frozenset({"tea"})) == 0.0
    assert overlap(frozenset(), frozenset()) == 1.0


def test_keywords_leave_out_stop_words_and_pair_chinese_characters() -> None:
    assert keywords("He has the salt") == {"salt"}
    assert keywords("喜欢咖啡") == {"喜欢", "欢咖", "咖啡"}
    assert keywords("猫 and salt") == {"猫", "salt"}
