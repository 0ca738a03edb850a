"""Anchors: statements and questions about them in both languages, by which cosines of encoders are compared."""

from __future__ import annotations

from typing import Final

STATEMENTS: Final = {
    "en": (
        "The user plays the violin in a school orchestra.",
        "He broke his left arm while skiing.",
        "Their flat has a view of the harbour.",
        "She is afraid of flying.",
        "The user buys bread at the corner bakery every Sunday.",
        "My sister teaches chemistry.",
        "The old bicycle was stolen last winter.",
        "He never eats cheese.",
        "The user is saving money for a new camera.",
        "Our train was three hours late.",
        "She learned to swim at the age of forty.",
        "The garden is full of tomatoes this year.",
    ),
    "zh": (
        "用户在学校乐团里拉小提琴。",
        "他滑雪的时候摔断了左臂。",
        "他们的公寓能看到港口。",
        "她害怕坐飞机。",
        "用户每个星期天都去街角的面包店买面包。",
        "我姐姐教化学。",
        "那辆旧自行车去年冬天被偷了。",
        "他从来不吃奶酪。",
        "用户在攒钱买一台新相机。",
        "我们的火车晚点了三个小时。",
        "她四十岁才学会游泳。",
        "今年园子里种满了西红柿。",
    ),
}
LANGUAGES: Final = tuple(STATEMENTS)
QUESTIONS: Final = {
    "en": (
        "Which instrument does the user play?",
        "What happened to him in the mountains?",
        "What can they see from their windows?",
        "Why does she always take the train?",
        "Where does the user get bread?",
        "What is my sister's job?",
        "What happened to the bicycle?",
        "Which food does he avoid?",
        "What does the user want to buy?",
        "Was the train on time?",
        "When did she learn to swim?",
        "What grows in the garden?",
    ),
    "zh": (
        "用户会什么乐器？",
        "他滑雪时出了什么事？",
        "从他们的窗户能看到什么？",
        "她为什么总是坐火车？",
        "用户在哪里买面包？",
        "我姐姐做什么工作？",
        "那辆自行车怎么了？",
        "他不吃什么东西？",
        "用户想买什么？",
        "火车准点吗？",
        "她是什么时候学会游泳的？",
        "园子里种了什么？",
    ),
}
