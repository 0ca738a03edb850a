"""What a text's tokens are."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from support.tables import each

from projections.text import analyser
from projections.text.english import STOP_WORDS, stem


@each(
    ("text", "expected"),
    [
        ("", ()),
        ("  \t\n 。！？ … 🙂 --- ___", ()),
        ("Room 12b", ("room", "12b")),
        ("snake_case", ("snak", "cas")),
        ("我喜欢猫", ("我", "我喜", "喜", "喜欢", "欢", "欢猫", "猫")),
        ("猫", ("猫",)),
        ("喝tea吧", ("喝", "tea", "吧")),
        ("第3次", ("第", "3", "次")),
        ("コーヒー", ("コー", "ーヒ", "ヒー")),
        ("ｺｰﾋｰ", ("コー", "ーヒ", "ヒー")),
        ("커피", ("커피",)),
        ("Ｗｅａｖｉａｔｅ", ("weaviat",)),
        ("Straße", ("strass",)),
        ("Zürich", ("zürich",)),
        ("Zu\u0308rich", ("zürich",)),
        ("Łódź ŁÓDŹ", ("łódź", "łódź")),
        ("हिन्दी", ("हिन्दी",)),
        ("Anna's Anna’s ANNA＇S", ("anna", "anna", "anna")),
        ("don't don’t don`t", ("dont", "dont", "dont")),
        ("the parents' house 'quoted'", ("the", "parent", "hous", "quot")),
        ("a b\u00a0c\u3000d\u2028e", ("a", "b", "c", "d", "e")),
    ],
)
def test_a_text_becomes_words_and_bigrams(text, expected):
    assert analyser.tokens(text) == expected


@each(
    "forms",
    [
        "paint paints painted painting",
        "share shares shared sharing",
        "plan plans planned planning",
        "study studies studied studying",
        "call calls called calling",
        "child children",
        "go goes going gone went",
        "James James's",
    ],
)
def test_forms_of_an_english_word_are_one_token(forms):
    assert len(set(analyser.tokens(forms))) == 1


@each("words", ["like dislike", "does doing done", "not no never", "sing sin", "bus bu", "3 3s"])
def test_different_words_stay_different(words):
    different = analyser.tokens(words)
    assert len(set(different)) == len(different)


def test_tokens_keep_repeats_and_stop_words_because_rules_count_them():
    assert analyser.tokens("not the tea, the tea") == ("not", "the", "tea", "the", "tea")


def test_terms_are_different_and_leave_stop_words_out():
    assert analyser.terms("What tea does Anna drink? The tea of Anna?") == ("tea", "anna", "drink")


def test_a_query_of_stop_words_only_searches_for_them():
    assert analyser.terms("Who am I?") == ("who", "am", "i")
    assert analyser.terms("?!") == ()


def test_negations_and_numbers_are_never_stop_words():
    assert STOP_WORDS.isdisjoint(["not", "no", "never", "none", "without", "dont", "cant", "one", "two", "first"])


def test_stop_words_are_spelt_as_the_analyser_leaves_them():
    assert {word: analyser.tokens(word) for word in STOP_WORDS} == {word: (word,) for word in STOP_WORDS}


def test_one_han_character_finds_the_texts_that_it_occurs_in():
    assert set(analyser.terms("猫")) <= set(analyser.tokens("用户养了一只猫"))


@settings(deadline=None)
@given(st.text())
def test_no_token_is_empty_or_has_white_space_and_the_same_text_has_the_same_tokens(text):
    found = analyser.tokens(text)
    assert all(token and not any(character.isspace() for character in token) for token in found)
    assert analyser.tokens(text) == found
    assert set(analyser.terms(text)) <= set(found)
    assert bool(analyser.terms(text)) == bool(found)


@settings(deadline=None)
@given(st.text(alphabet="abc é猫犬カ커'’ 1"), st.text(alphabet="abc é猫犬カ커'’ 1"))
def test_a_line_break_separates_like_two_texts(first, second):
    assert analyser.tokens(f"{first}\n{second}") == analyser.tokens(first) + analyser.tokens(second)


@settings(deadline=None)
@given(st.text(alphabet=st.characters(categories=["Lu", "Ll", "Lo", "Nd"])))
def test_words_are_found_whatever_their_case(text):
    assert analyser.tokens(text.casefold()) == analyser.tokens(text)


def test_words_of_other_scripts_are_not_stemmed():
    assert [stem(word) for word in ("élans", "кошками", "3ds")] == ["élans", "кошками", "3ds"]
