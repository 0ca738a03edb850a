"""What a question names letter by letter, and which texts have it."""

from __future__ import annotations

from support.tables import each

from projections.text.literals import holds, literals_in


@each(
    ("question", "named"),
    [
        ("Where is order 100821?", ("100821",)),
        ("Is flight LH1234 late?", ("lh1234",)),
        ("Which build fixed v2.31.4?", ("v2.31.4",)),
        ("Who writes from mira@example.com?", ("mira@example.com",)),
        ('Who said "the red door"?', ("the red door",)),
        ("谁说过「今晚吃火锅」？", ("今晚吃火锅",)),
        ("订单AB-20931到哪了", ("ab-20931",)),
        ("What did I do in 2023, on 2023-05-07 at 10am?", ()),
        ("Did I run 10km on the 17th?", ()),
        ("Where does she live?", ()),
        ("x", ()),
    ],
)
def test_numbers_and_quotations_are_named_and_years_days_and_words_are_not(question: str, named: tuple[str, ...]):
    assert literals_in(question) == named


@each(
    ("text", "literal", "has"),
    [
        ("Order 100821 was sent.", "100821", True),
        ("Call 01008215 please.", "100821", False),
        ("订单100821已发货", "100821", True),
        ("Flight lh1234.", "lh1234", True),
        ("It said: The Red Door!", "the red door", True),
        ("nothing", "100821", False),
    ],
)
def test_a_text_has_a_literal_only_by_itself(text: str, literal: str, has: bool):  # noqa: FBT001 - a case
    assert holds(text, (literal,)) == has
