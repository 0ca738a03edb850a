"""What a question asks for by its form, and which texts have something of it."""

from __future__ import annotations

from support.tables import each

from projections.text.forms import forms_asked, forms_of

ANSWERED = [
    ("What is the e-mail address of the shop?", "Contact us: help@example.com"),
    ("What's her email?", "luna@example.org"),
    ("他的邮箱是什么？", "wang@example.cn"),
    ("Which website sells it?", "Buy at www.example.shop"),
    ("网址是什么", "example.com/登录"),
    ("What is the phone number of the dentist?", "Call +49 89 1234567"),
    ("餐厅的电话号码是多少？", "订座：010-6512 3456"),
    ("How much is the ticket?", "Adults € 12"),
    ("How much did I pay for the flat?", "Rent: 900 euros"),
    ("机票多少钱？", "经济舱 1280元"),
    ("What percentage is left?", "Battery 80 %"),
    ("What time does the train leave?", "Platform 4, 18:05"),
    ("What is the opening time?", "Open from 9 am"),
    ("电影几点开始？", "入场 晚上八点半"),
    ("On what date does it end?", "Until March 3"),
    ("Which day is the concert?", "Sat, 14 Feb"),
    ("发货日期是哪天？", "3月8日发货"),
    ("What year was it built?", "Founded 1987"),
    ("What is the temperature outside?", "Cloudy, 21°"),
    ("现在气温多少度", "晴 21 度"),
    ("What is the file size?", "Download (84 MB)"),
    ("Which version is installed?", "About: 2.14.1"),
]


@each(("question", "text"), ANSWERED)
def test_a_text_has_the_form_that_the_question_asks_for(question: str, text: str):
    asked = forms_asked(question)
    assert forms_of(text) & asked
    assert forms_of(text, asked) == forms_of(text) & asked


@each(
    "question",
    [
        "What did she say the last time?",
        "When was the first time we met?",
        "Which time management technique does he use?",
        "How much does she love the sea?",
        "What is her name?",
        "Who sent the email?",
        "她住在哪里？",
        "她喜欢什么？",
    ],
)
def test_most_questions_ask_for_no_form(question: str):
    assert forms_asked(question) == 0


@each(
    "text",
    [
        "User likes green tea.",
        "Room 12 on floor 3",
        "Version française",
        "用户喜欢喝茶",
        "He scored 4 points",
        "may I?",
    ],
)
def test_other_texts_have_nothing_of_any_form(text: str):
    assert forms_of(text) == 0


def test_a_question_may_ask_for_two_forms():
    both = forms_asked("What is the date and what is the time of the show?")
    assert both == forms_of("12 May, 20:15")
