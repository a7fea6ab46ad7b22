import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.apps.supplier.reading.numbers import NUMBER, parse_number, spell


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("200", "200"),
        ("1'000", "1000"),
        ("6.50", "6.5"),
        ("1w", "10000"),
        ("1W", "10000"),
        ("1.5万", "15000"),
        ("1万2", "12000"),
        ("2千5", "2500"),
        ("3k", "3000"),
        ("5百", "500"),
        ("十", "10"),
        ("十五", "15"),
        ("二十", "20"),
        ("二十五", "25"),
        ("两百", "200"),
        ("一百二", "120"),
        ("一百零二", "102"),
        ("两千五", "2500"),
        ("一千零五十", "1050"),
        ("一万二", "12000"),
        ("三万五千", "35000"),
        ("二零二六", "2026"),
        ("零", "0"),
        ("半", "0.5"),
    ],
)
def test_a_number_is_read_in_any_spelling(text, value):
    assert spell(parse_number(text)) == value


@pytest.mark.parametrize("text", ["", "两三", "三五", "百", "万", "百万千", "一二十", "个", "1.2.3", "千万"])
def test_what_is_no_single_number_is_none(text):
    assert parse_number(text) is None


@given(st.text(alphabet="零一二两三四五六七八九十百千万半0123456789.'wk"))
def test_any_text_is_a_number_or_none(text):
    value = parse_number(text)
    assert value is None or value >= 0


@given(st.integers(min_value=1, max_value=99_999))
def test_what_is_spelt_in_han_is_read_back(number):
    assert parse_number(spell_in_han(number)) == Decimal(number)


def spell_in_han(number):
    digits, words, gap = "零一二三四五六七八九", "", False
    for power, name in ((10_000, "万"), (1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, number = divmod(number, power)
        if digit:
            words += ("零" if gap and words else "") + digits[digit] + name
        gap = not digit
    return words


def test_a_number_is_found_whole():
    assert re.findall(NUMBER, "大约1.5万个，两百五，12.8") == ["1.5万", "两百五", "12.8"]
