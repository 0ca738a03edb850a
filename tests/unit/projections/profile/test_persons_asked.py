"""Questions say whom they are about, in both languages, and texts are held against that."""

from __future__ import annotations

from support.tables import each

from projections.profile.persons_asked import persons_asked


@each(
    ("question", "text", "misses"),
    [
        ("Does my mother smoke?", "My sister smokes a pack a day.", True),
        ("Does my mother smoke?", "Mum gave up smoking.", False),
        ("Does my mother smoke?", "妈妈戒烟了。", False),
        ("我妈妈抽烟吗？", "我姐姐一天一包烟。", True),
        ("我妈妈抽烟吗？", "My mum smokes.", False),
        ("Where does Jonas live?", "My daughter Wiebke lives around the corner.", True),
        ("Where does Jonas live?", "My son Jonas moved away.", False),
        ("Where does Jonas live?", "我儿子搬走了。", False),
        ("What did we do in December?", "We went skiing.", False),
        ("What is my rent?", "My rent is 780 euros.", False),
    ],
)
def test_a_text_misses_whom_the_question_names(question: str, text: str, misses: bool):  # noqa: FBT001 - a case
    assert persons_asked(question).misses(text) is misses


@each(
    ("question", "is_unnamed"),
    [
        ("Does she smoke?", True),
        ("她抽烟吗？", True),
        ("What is her name?", True),
        ("Does Carla like her job?", False),
        ("Does my sister like her job?", False),
        ("其他的呢？", False),
        ("Do I smoke?", False),
    ],
)
def test_a_pronoun_without_anybody_names_nobody(question: str, is_unnamed: bool):  # noqa: FBT001 - a case
    assert persons_asked(question).is_unnamed is is_unnamed
