"""Whether the encoder reads a text is told by its script, and of Latin letters by their marks."""

from support.tables import each

from projections.text.scripts import is_in_its_languages

OTHERS = ["mình sống ở Đà Nẵng", "Bydlím v Praze a mám dvě děti, ještě řeším práci", "Μένω στην Αθήνα"]
ITS_OWN = [
    "I heard Dvořák and Janáček tonight and it was really great",
    "Mieszkam w Łodzi i mam psa",
    "İstanbul'da yaşıyorum ve çalışıyorum",
    "Ich wohne in Köln",
    "我住在北京",
    "ok thanks",
]


@each("text", OTHERS)
def test_another_language_is_told(text: str):
    assert not is_in_its_languages(text)


@each("text", ITS_OWN)
def test_names_and_marks_of_its_languages_make_no_other(text: str):
    assert is_in_its_languages(text)
