"""What redaction takes and what it leaves, in both languages, and that nothing valid is in what has passed it.

The check digits are computed here in another way than in the code: by tables, and sign by sign.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.tables import each

from schemas.own_patterns import OwnPattern
from schemas.redaction import KINDS, Redaction, Refused, actions_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemas.redaction import Kind

DOOR = Redaction(actions_of("all=redact"))
TAKEN: list[tuple[Kind, str, str]] = [
    ("card", "My card is 4111-1111-1111-1111, valid until 12/29.", "4111-1111-1111-1111"),
    ("card", "two spaces: 4111  1111  1111  1111", "4111  1111  1111  1111"),
    ("card", "tabs: 4111\t1111\t1111\t1111", "4111\t1111\t1111\t1111"),
    ("card", "4111_1111_1111_1111 in a name", "4111_1111_1111_1111"),
    ("card", "4111/1111/1111/1111 with slashes", "4111/1111/1111/1111"),
    ("card", "a minus: 4111\u22121111\u22121111\u22121111", "4111\u22121111\u22121111\u22121111"),
    ("card", "卡号４１１１ １１１１ １１１１ １１１１", "４１１１ １１１１ １１１１ １１１１"),
    ("phone", "电话１３８００１３８０００", "１３８００１３８０００"),
    ("phone", "电话 138－0013－8000", "138－0013－8000"),
    ("phone", "ring (555)123-4567", "(555)123-4567"),
    ("phone", "ring +49\u00a030\u00a01234567", "+49\u00a030\u00a01234567"),
    ("iban", "账号ＤＥ８９３７０４００４４０５３２０１３０００", "ＤＥ８９３７０４００４４０５３２０１３０００"),
    ("iban", "pay DE89  3704  0044  0532  0130  00", "DE89  3704  0044  0532  0130  00"),
    ("email", "write to jürgen@müller.de", "jürgen@müller.de"),
    ("email", "пишите на анна@пример.рф", "анна@пример.рф"),
    ("email", "ａｎｎ＠ｍａｉｌ．ｅｘａｍｐｌｅ is of full width", "ａｎｎ＠ｍａｉｌ．ｅｘａｍｐｌｅ"),
    ("card", "Charge 378282246310005 for the hotel.", "378282246310005"),
    ("card", "Amex 3782 822463 10005 please", "3782 822463 10005"),
    ("card", "the Maestro one, 6759649826438453", "6759649826438453"),
    ("card", "2223003122003222 is my new Mastercard", "2223003122003222"),
    ("card", "我的卡号是4111111111111111，别忘了。", "4111111111111111"),
    ("card", "银联卡 6222 0212 3456 7890 128 已绑定", "6222 0212 3456 7890 128"),
    ("card", "信用卡：４１１１１１１１１１１１１１１１。", "４１１１１１１１１１１１１１１１"),
    ("card", "卡号 4111\u30001111\u30001111\u30001111", "4111\u30001111\u30001111\u30001111"),
    ("card", "printed with 4111\u00a01111\u00a01111\u00a01111", "4111\u00a01111\u00a01111\u00a01111"),
    ("iban", "Please pay to DE89 3704 0044 0532 0130 00 by Friday", "DE89 3704 0044 0532 0130 00"),
    ("iban", "my account: gb82west12345698765432.", "gb82west12345698765432"),
    ("iban", "NO93 8601 1117 947 is the shortest", "NO93 8601 1117 947"),
    ("iban", "to MT84MALT011000012345MTLCAST001S", "MT84MALT011000012345MTLCAST001S"),
    ("iban", "请汇到DE89370400440532013000，谢谢", "DE89370400440532013000"),
    ("iban", "账号：FR14 2004 1010 0505 0001 3M02 606。", "FR14 2004 1010 0505 0001 3M02 606"),
    ("id_card", "身份证号11010519491231002X，请保密", "11010519491231002X"),
    ("id_card", "身份证：110105 19491231 002X", "110105 19491231 002X"),
    ("id_card", "身份证４４０５２４１８８００１０１００１４已登记", "４４０５２４１８８００１０１００１４"),
    ("id_card", "ID number 440524188001010014 on file", "440524188001010014"),
    ("phone", "Call me at +44 20 7946 0958 tonight", "+44 20 7946 0958"),
    ("phone", "ring 020 7946 0958 or come by", "020 7946 0958"),
    ("phone", "(212) 555-0142 is the office", "(212) 555-0142"),
    ("phone", "dial 0049 30 1234567 from here", "0049 30 1234567"),
    ("phone", "我的手机是13812345678，微信同号", "13812345678"),
    ("phone", "打138-1234-5678找我", "138-1234-5678"),
    ("phone", "座机（010）12345678转8", "（010）12345678"),
    ("phone", "公司电话0755-12345678", "0755-12345678"),
    ("email", "write to ann.b+c@mail.example.co.uk, not to Bob", "ann.b+c@mail.example.co.uk"),
    ("email", "邮箱是zhang_san@mail.example，请发过去", "zhang_san@mail.example"),
    ("secret", "the key is sk-abcdefghijklmnop1234", "sk-abcdefghijklmnop1234"),
    ("secret", "export TOKEN=ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
    ("secret", "use glpat-abcdefghij1234567890 for it", "glpat-abcdefghij1234567890"),
    ("secret", "密钥是AKIAABCDEFGHIJKLMNOP，勿外传", "AKIAABCDEFGHIJKLMNOP"),
    ("secret", "阿里云 LTAIabcdefghijklmnop", "LTAIabcdefghijklmnop"),
]
"""Kind, sentence, and what of it is replaced."""
LEFT: list[str] = [
    "order 30000000001700000000000123456 is longer than any number",
    "4111 1111 1111 1112 fails Luhn's check",
    "Order 2026-11-23-124510 was shipped",
    "订单号 2026112300012345 已发货",
    "订单号20261123000123450已签收",
    "order 1234567890123456 begins with 1",
    "at 1700000000000 milliseconds",
    "2026-11-23 12:45:10.123456",
    "二〇二六年十一月二十三日下午3点45分",
    "version 1.2.3-4, room 1203, 98.6 %",
    "人民币12,345.67元，编号A-2026-001",
    "GB83WEST12345698765432 has wrong check digits",
    "DE89 3704 0044 is too short",
    "XX89370400440532013000 is of no country",
    "110105194912310021 fails its check digit",
    "11010519491331002X has no such month",
    "快递单号SF1234567890123",
    "ISBN 978-7-111-54742-6",
    "邮编100000，区号010",
    "call 911, room 555-0142",
    "服务热线95588",
    "me @ home, a@b, @ann",
    "他@了我，见群里",
    "sk-short and ghp_short",
    "a8f5f167f44f4964e6c998dee827110c",
    "550e8400-e29b-41d4-a716-446655440000",
    "192.168.100.200:8080",
    "https://host.example/a:b?c=d@e",
]
"""Sentences that are kept as they are."""
MISSED: list[str] = [
    "four one one one, one one one one, and so on",
    "卡号是四一一一一一一一一一一一一一一一",
    "4111.1111.1111.1111 has dots",
    "4111 1111\n1111 1111 is on two lines",
    "4111\u200b1111\u200b1111\u200b1111 has unseen signs in it",
    "ann at mail dot example",
    "王五@例子.公司",
    "the password is quokka12",
    "密码是 quokka12",
    "110105491231002 is an id number of before 1999",
    "ring 7946 0958",
    "43099256988058250891197602091206 is a card and an id number that share two digits in one row of them",
]
"""What stands in the page as not found: a test that begins to fail here is good news for the page."""
FALSE_ALARMS: list[tuple[str, str]] = [
    ("order 4000000000000002 is no card", "order [card] is no card"),
    ("订单号 6000000000000007 已发货", "订单号 [card] 已发货"),
    ("serial number 13812345678", "serial number [phone]"),
]
"""Ordinary numbers that happen to have the check digits, or the look, of others."""


@each(("kind", "sentence", "number"), TAKEN)
def test_what_is_to_be_found_is_replaced_and_the_words_around_it_stay(kind: Kind, sentence: str, number: str):
    assert number in sentence
    assert DOOR.value(sentence) == sentence.replace(number, f"[{kind}]")
    with pytest.raises(Refused) as refusal:
        Redaction(actions_of(f"{kind}=refuse")).value(sentence)
    assert number not in str(refusal.value)


@each("sentence", LEFT)
def test_ordinary_sentences_stay_as_they_are(sentence: str):
    assert DOOR.value(sentence) == sentence


@each("sentence", MISSED)
def test_what_the_page_says_is_not_found_is_not_found(sentence: str):
    assert DOOR.value(sentence) == sentence


@pytest.mark.parametrize(("sentence", "kept"), FALSE_ALARMS)
def test_an_ordinary_number_with_right_check_digits_is_taken(sentence: str, kept: str):
    assert DOOR.value(sentence) == kept


DOUBLED = "0246813579"
"""The sum of the digits of the double of each digit: Luhn's check as a table."""
WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
"""Of the digits of a Chinese id number, from GB 11643."""
IBAN_LENGTHS = {"DE": 22, "GB": 22, "FR": 27, "NO": 15, "AT": 20, "MT": 31}


def luhn(digits: str) -> bool:
    return sum(int(DOUBLED[int(d)] if place % 2 else d) for place, d in enumerate(reversed(digits))) % 10 == 0


def remainder(text: str) -> int:
    """Return the remainder by 97 of an account number, sign by sign."""
    left = 0
    for sign in text[4:] + text[:4]:
        value = int(sign, 36)
        left = (left * (100 if value > 9 else 10) + value) % 97
    return left


def id_digit(digits: str) -> str:
    return "10X98765432"[sum(int(d) * weight for d, weight in zip(digits, WEIGHTS, strict=True)) % 11]


def card_numbers(text: str) -> Iterator[str]:
    """Yield every valid card number of whole groups of digits, one space or hyphen between them."""
    for row in re.findall(r"\d+(?:[ -]\d+)*", text):
        groups = re.split("[ -]", row)
        for first in range(len(groups)):
            for last in range(first + 1, len(groups) + 1):
                digits = "".join(groups[first:last])
                is_issued = digits[0] in "3456" or "2200" <= digits[:4] <= "2720"
                if 13 <= len(digits) <= 19 and is_issued and luhn(digits):
                    yield digits


def account_numbers(text: str) -> Iterator[str]:
    """Yield every valid account number that begins where no letter or digit stands before it."""
    for begin in re.finditer(r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}", text):
        length = IBAN_LENGTHS.get(begin[0][:2].upper(), 0)
        signs = re.match(r"(?:[ -]?[A-Za-z0-9])+", text[begin.start() :])
        number = re.sub("[ -]", "", signs[0])[:length] if signs else ""
        if length and len(number) == length and remainder(number) == 1:
            yield number


def id_numbers(text: str) -> Iterator[str]:
    """Yield every valid Chinese id number that stands apart from other digits."""
    for found in re.finditer(r"(?<!\d)(?=(\d{6}[ -]?\d{8}[ -]?\d{3}[\dXx])(?!\d))", text):
        number = re.sub("[ -]", "", found[1]).upper()
        try:
            date(int(number[6:10]), int(number[10:12]), int(number[12:14]))
        except ValueError:
            continue
        if id_digit(number[:17]) == number[17]:
            yield number


def valid_numbers(text: str) -> list[str]:
    return [*card_numbers(text), *account_numbers(text), *id_numbers(text)]


@st.composite
def cards(draw: st.DrawFn) -> str:
    digits = draw(st.sampled_from(["4", "51", "37", "62", "2221", "6011"])) + draw(
        st.text("0123456789", min_size=11, max_size=14)
    )
    digits += next(last for last in "0123456789" if luhn(digits + last))
    gap = draw(st.sampled_from(["", "", " ", "-"]))
    return gap.join(digits[place : place + 4] for place in range(0, len(digits), 4))


@st.composite
def accounts(draw: st.DrawFn) -> str:
    country, length = draw(st.sampled_from(sorted(IBAN_LENGTHS.items())))
    rest = draw(st.text("0123456789ABCXYZ", min_size=length - 4, max_size=length - 4))
    number = f"{country}{98 - remainder(f'{country}00{rest}'):02}{rest}"
    number = draw(st.sampled_from([number, number.lower()]))
    gap = draw(st.sampled_from(["", "", " ", "-"]))
    return gap.join(number[place : place + 4] for place in range(0, length, 4))


@st.composite
def ids(draw: st.DrawFn) -> str:
    born = date(1930, 1, 1) + timedelta(days=draw(st.integers(0, 33_000)))
    digits = f"{draw(st.integers(110_000, 659_999))}{born:%Y%m%d}{draw(st.integers(0, 999)):03}"
    number = digits + id_digit(digits)
    return draw(st.sampled_from([number, number.lower(), f"{number[:6]} {number[6:14]} {number[14:]}"]))


PARTS = st.one_of(
    cards(),
    accounts(),
    ids(),
    st.text("0123456789 -", max_size=12),
    st.text("abXx@.+:/ 是我的卡，。", max_size=6),
    st.sampled_from(["DE89", "+86", "sk-", "13812345678", "ann@mail.example", "AKIAABCDEFGHIJKLMNOP", "[card]", "\n"]),
)
TEXTS = st.lists(PARTS, max_size=12).map("".join)


@settings(max_examples=120)
@given(
    cards() | accounts() | ids(), st.sampled_from(["", "(", "卡号：", "is "]), st.sampled_from(["", ")", "。", " ok"])
)
def test_every_valid_number_is_taken_as_a_whole(number: str, before: str, after: str):
    assert valid_numbers(number)
    assert re.fullmatch(
        r"\[(?:card|iban|id_card)\]", DOOR.value(before + number + after)[len(before) :].removesuffix(after)
    )


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_no_text_that_passes_holds_a_valid_number(text: str):
    passed = DOOR.value(text)
    assert not valid_numbers(passed)
    assert DOOR.value(passed) == passed


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_nor_does_one_behind_a_tenants_own_pattern_that_cuts_numbers_apart(text: str):
    own = OwnPattern("mine", r"(?:99|1381|0)", "redact")
    assert not valid_numbers(Redaction(actions_of("all=redact"), patterns=[own]).value(text))


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_a_text_is_refused_exactly_where_something_would_be_replaced(text: str):
    refusing = Redaction(actions_of("all=refuse"))
    if DOOR.value(text) == text:
        assert refusing.value(text) == text
    else:
        with pytest.raises(Refused):
            refusing.value(text)


PHONES = st.sampled_from(
    ["13812345678", "+86 138 1234 5678", "+44 20 7946 0958", "0049 30 1234567", "(212) 555-0142", "0755-12345678"]
)
EMAILS = st.sampled_from(["ann@mail.example", "li.4711@mail.example"])
SECRETS = st.sampled_from(["sk-abcdefghijklmnop1234", "AKIAABCDEFGHIJKLMN12", "glpat-abcdefghij1234567890"])
NUMBERS = accounts() | ids() | cards() | PHONES


THINGS = NUMBERS | EMAILS | SECRETS


@settings(max_examples=160)
@given(THINGS, st.sampled_from(["", "", " ", "-", ",", "，", "和", "\n", " and "]), THINGS)
@example("+44 20 7946 0958", "", "(212) 555-0142")
@example("0049 30 1234567", " ", "0049 30 1234567")
@example("+44 20 7946 0958", "", "4111-1111-1111-1111")
@example("AT260000000000000050", "", "4000 0000 0000 6")
@example("13812345678", "", "AT18 0000 0000 0000 0000")
@example("AT39000000000000000A", "", "AT18 0000 0000 0000 0000")
def test_of_two_things_side_by_side_no_digit_stays(one: str, between: str, other: str):
    """Whatever their kinds, and also where nothing stands between them."""
    assert not re.search(r"\d", DOOR.value(f"{one}{between}{other}"))


FORMS: dict[Kind, list[str]] = {
    "secret": ["sk-abcdefghijklmnop1234", "AKIAABCDEFGHIJKLMN12"],
    "email": ["li.4711@mail7.example", "7a@b3.c4.li"],
    "iban": ["DE89370400440532013000", "NO93 8601 1117 947"],
    "id_card": ["440524188001010014", "110105 19491231 002X"],
    "card": ["4111111111111111", "3782 822463 10005"],
    "phone": ["13812345678", "0049 30 1234567", "020 7946 0958"],
}
"""Of every kind, without a gap and with gaps."""


@each(("one", "other"), list(product(KINDS, repeat=2)))
def test_of_two_of_any_kinds_written_on_to_each_other_no_digit_stays(one: Kind, other: Kind):
    """With and without a boundary."""
    for first, between, second in product(FORMS[one], ["", " ", "-", ",", "（", "和"], FORMS[other]):
        assert not re.search(r"\d", DOOR.value(f"{first}{between}{second}")), (first, between, second)


SHARING: list[tuple[Kind, str, Kind, str, int]] = [
    ("card", "4902286692313527", "email", "7a@b3.c4.li", 1),
    ("id_card", "575441 19930713 2557", "email", "7a@b3.c4.li", 1),
    ("iban", "DE50392379595281195301", "id_card", "59528119530102047X", 12),
    ("iban", "DE45434586718697100225", "id_card", "577003199010249940", 1),
    ("iban", "DE95026367DE1384626652", "iban", "DE13846266524126776479", 12),
    ("iban", "BE74 07138-0848-326", "phone", "138-0848-3260", 12),
    ("iban", "DE58433874686853645791", "phone", "13858560226", 1),
    ("iban", "DE58 1537 7966 9354 1966 li", "email", "li.4711@mail7.example", 2),
    ("iban", "GB95508050AKIAABCDEFGH", "secret", "AKIAABCDEFGHIJKLMN12", 12),
    ("iban", "DE685838685073407860sk", "secret", "sk-abcdefghijklmnop1234", 2),
    ("phone", "0049 138-7020-3", "phone", "138-7020-3024", 10),
    ("phone", "+44 20 9048 5927", "email", "7a@b3.c4.li", 1),
    ("email", "7a@b3.c4.DE", "iban", "DE63465415281080497667", 2),
    ("email", "7a@b3.c4.li", "email", "li.4711@mail7.example", 2),
    ("email", "7a@b3.cAKIA", "secret", "AKIAABCDEFGHIJKLMN12", 4),
    ("email", "ann7@mail.exampls", "secret", "sk-abcdefghijklmnop1234", 1),
    ("secret", "AKIAABCDEFGHIJKLMN14", "id_card", "412898198509048810", 1),
    ("secret", "sk-abcdefghijklmnop1569", "id_card", "569203 19451202 8740", 3),
    ("secret", "AKIAABCDDE6233445223", "iban", "DE62334452235271449346", 12),
    ("secret", "AKIAABCDEFGHIJKLMN11", "phone", "13856841524", 1),
    ("secret", "sk-abcdefghijklmnop1004", "phone", "0049 30 5684152", 3),
    ("secret", "sk-abcdefghijklmnop12li", "email", "li.4711@mail7.example", 2),
    ("secret", "AKIAABCDEFGHIJKLMN1A", "secret", "AKIAABCDEFGHIJKLMN12", 1),
]
"""Two that share signs, with the kind of each and how many: the end of the one is how the other begins.

Of the other pairs none can, for no card, id number or phone ends as an account number or a key begins; or there is a
boundary at the end of one of them, and what is written as a number of its own is read as one.
"""


@each(("kind", "one", "other_kind", "other", "shared"), SHARING)
def test_of_two_that_share_signs_no_digit_of_either_stays(
    kind: Kind, one: str, other_kind: Kind, other: str, shared: int
):
    """With and without a boundary around them. Each is found where it stands alone."""
    assert one.endswith(other[:shared])
    assert (DOOR.value(one), DOOR.value(other)) == (f"[{kind}]", f"[{other_kind}]")
    for before, after in product(["", " ", "（", "is "], ["", " ", ")", "。", ", ok"]):
        assert not re.search(r"\d", DOOR.value(f"{before}{one}{other[shared:]}{after}")), (before, after)


ACCOUNTS_WITHIN = [
    "BE6500000000019005670",
    "BE5100000000024865738",
    "BE46636219990428362X",
    "BE570050196508120508",
    "FI2720000000004830668",
    "FI4000000000005305806",
    "FI505957200309099579",
    "FI581558199911105580",
    "SI5100000000011561811",
    "SI2720000000015600506",
    "SI613234198207182348",
    "SI122997198705169978",
    "BA6500000000000633597",
    "BA2720000000011799385",
    "BA410929200308129295",
    "BA561390199905263908",
]
"""Two letters before a card or an id number, with which they begin a valid account number: it ends before the other."""


@each(("both", "before", "after"), list(product(ACCOUNTS_WITHIN, ["", " ", "-", "（"], ["", " ", ")", "。", "-1"])))
def test_of_two_numbers_that_share_digits_no_digit_of_either_stays(both: str, before: str, after: str):
    """In either case of the letters."""
    for number in (both, both.lower()):
        assert not re.search(r"\d{2}", DOOR.value(f"{before}{number}{after}"))


@each("glued", ["DE89370400440532013000", "440524188001010014DE89370400440532013000", "11010519491231002X"])
def test_numbers_written_on_to_each_other_without_end_are_gone_in_linear_time(glued: str):
    passed = DOOR.value(glued * 200)
    assert not valid_numbers(passed)
    assert len(re.sub(r"\[[a-z_]+\]", "", passed)) == 0
