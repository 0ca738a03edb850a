"""What holds of the duplicate rule for any text."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from schemas.text import digest, normalised
from streams.decisions.duplicates.similarity import keywords, near_duplicate, overlap

WORDS = "the a user Anna Ben really very also likes says that too hopes not never coffee tea 3 10, well. very much I'm"
ENGLISH = st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=12)
CHINESE = st.text("我他很非常真的是也都了不没有去成都喜欢咖啡三五12，。啊 ", min_size=1, max_size=15)
TEXTS = st.one_of(st.text(max_size=30), ENGLISH.map(" ".join), CHINESE)
COSINES = st.one_of(st.none(), st.floats(-1, 1))


@given(TEXTS, TEXTS, COSINES)
def test_the_order_of_the_two_texts_does_not_matter(a: str, b: str, cosine: float | None) -> None:
    assert near_duplicate(a, b, cosine) == near_duplicate(b, a, cosine)
    assert overlap(keywords(a), keywords(b)) == overlap(keywords(b), keywords(a))


@given(TEXTS, COSINES)
def test_a_text_is_a_duplicate_of_itself(text: str, cosine: float | None) -> None:
    assert near_duplicate(text, text, cosine)
    assert near_duplicate(text, f"\t{normalised(text)} .", cosine)


@given(TEXTS)
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    assert normalised(text) == normalised(normalised(text))
    assert digest(text) == digest(normalised(text))


@given(TEXTS, st.characters(categories=["Nd"]), st.characters(categories=["Nd"]), TEXTS)
def test_changing_a_digit_never_merges(before: str, digit: str, other: str, after: str) -> None:
    assume(normalised(digit) != normalised(other))
    assert not near_duplicate(f"{before}{digit}{after}", f"{before}{other}{after}", 1.0, keyword_overlap=0.0)


@given(ENGLISH, st.sampled_from(["not", "never", "no", "without", "hardly"]), st.data())
def test_adding_an_english_negation_never_merges(words: list[str], negation: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(words)))
    negated = [*words[:at], negation, *words[at:]]
    assert not near_duplicate(" ".join(words), " ".join(negated), 1.0, keyword_overlap=0.0)


@given(CHINESE, st.sampled_from("不没无未非别"), st.data())
def test_adding_a_chinese_negation_never_merges(text: str, negation: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    assert not near_duplicate(text, text[:at] + negation + text[at:], 1.0, keyword_overlap=0.0)


@given(st.sampled_from(["likes", "pays", "knows", "called"]), st.permutations(["Anna", "Ben", "Chloe", "Dan"]))
def test_swapped_roles_never_merge(verb: str, names: list[str]) -> None:
    one, other, *_ = names
    assert not near_duplicate(f"{one} {verb} {other}", f"{other} {verb} {one}", 1.0, keyword_overlap=0.0)


@given(st.sampled_from(["really ", "definitely ", "also ", "absolutely "]), st.sampled_from(["tea", "Oslo", "3 cats"]))
def test_an_intensity_word_before_the_verb_always_merges(word: str, what: str) -> None:
    assert near_duplicate(f"The user loves {what}", f"The user {word}loves {what}.", None)
