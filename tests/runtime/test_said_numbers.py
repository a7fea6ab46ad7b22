from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.runtime.said_numbers import find_numbers


def read(text):
    """Each number as it is written, with its readings in order."""
    return [(text[found.start : found.end], sorted(found.readings)) for found in find_numbers(text)]


def one(text):
    ((written, readings),) = read(text)
    assert written == text
    return [float(reading) for reading in readings]


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("5", [5]),
        ("5.0", [5]),
        ("0.01", [0.01]),
        (".5", [0.5]),
        ("007", [7]),
        ("1,000", [1000]),
        ("12,345,678.90", [12_345_678.9]),
        ("１，０００", [1000]),
        ("５．５", [5.5]),
        ("٣", [3]),
        ("५०", [50]),
        ("5%", [0.05, 5]),
        ("５％", [0.05, 5]),
        ("百分之五", [0.05, 5]),
        ("-5", [-5]),
        ("−5", [-5]),
        ("负五", [-5]),
        ("5k", [5, 5000]),
        ("1w", [1, 10_000]),
        ("5万", [50_000]),
        ("3.5万", [35_000]),
        ("2千万", [20_000_000]),
        ("5毛", [0.5, 5]),
        ("五角", [0.5, 5]),
        ("5分", [0.05, 5]),
        ("半", [0.5]),
    ],
)
def test_digits_are_read_as_people_mean_them(text, readings):
    assert one(text) == readings


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("零", [0]),
        ("五", [5]),
        ("两", [2]),
        ("十", [10]),
        ("十五", [15]),
        ("二十", [20]),
        ("五十五", [55]),
        ("一百", [100]),
        ("一百零五", [105]),
        ("一百五", [150]),
        ("一百五十", [150]),
        ("五百", [500]),
        ("一千二", [1200]),
        ("一千零二", [1002]),
        ("一千零二十", [1020]),
        ("三万五", [35_000]),
        ("三万零五", [30_005]),
        ("十二万三千四百五十六", [123_456]),
        ("三千五百万", [35_000_000]),
        ("两亿三千万", [230_000_000]),
        ("伍佰贰拾", [520]),
        ("二〇二六", [2026]),
        ("五点五", [5.5]),
        ("两三", [2, 3, 23]),
        ("两三百", [200, 300]),
        ("七八十", [70, 80]),
    ],
)
def test_chinese_numerals_are_read(text, readings):
    assert one(text) == readings


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("4,50", ["4", "50"]),
        ("1,0000", ["1", "0000"]),
        ("12,345,67", ["12,345", "67"]),
        ("3-5天", ["3", "5"]),
        ("2026-05-03", ["2026", "05", "03"]),
        ("1.2.3", ["1.2", "3"]),
        ("5kg", ["5"]),
        ("3分钟", ["3"]),
        ("MOQ 500pcs, 3.5 USD", ["500", "3.5"]),
        ("万一不行", ["一"]),
        ("千万别", []),
        ("five hundred", []),
        ("", []),
    ],
)
def test_a_text_is_taken_apart_into_its_numbers(text, written):
    assert [found for found, _ in read(text)] == written


def test_a_price_with_its_small_change_is_one_number():
    assert read("单价5块5") == [("5块5", [5, Decimal("5.5")]), ("5", [5])]
    assert read("五块二毛") == [("五块二毛", [5, Decimal("5.2")]), ("二毛", [Decimal("0.2"), 2])]


@pytest.mark.parametrize(
    ("text", "readings"), [("A-5", [-5, 5]), ("温度-5", [-5, 5]), ("(-5)", [-5]), ("： -5", [-5]), ("- 5", [5])]
)
def test_a_hyphen_is_a_sign_where_it_can_be_one(text, readings):
    ((_, found),) = read(text)
    assert found == readings


@pytest.mark.parametrize(("length", "has_reading"), [(100, True), (101, False)])
def test_a_number_that_is_too_long_to_be_said_has_no_reading(length, has_reading):
    ((written, readings),) = read("7" * length)
    assert (len(written), bool(readings)) == (length, has_reading)


def test_a_long_number_is_not_rounded():
    assert one_decimal("1" * 60 + "%") == {Decimal("1" * 60), Decimal("1" * 58 + ".11")}


def one_decimal(text):
    (found,) = find_numbers(text)
    return found.readings


@given(st.text(st.sampled_from("0159,.-%kw块元点毛分半零一二两五十百千万亿负之 aé５％①"), max_size=40))
def test_whatever_a_text_holds_its_numbers_are_inside_it_and_in_order(text):
    found = list(find_numbers(text))
    assert all(0 <= number.start < number.end <= len(text) for number in found)
    assert [number.end for number in found] == sorted(number.end for number in found)


@given(st.integers(min_value=0, max_value=10**12))
def test_every_whole_number_is_read_in_all_its_spellings(number):
    for text in (str(number), f"{number:,}", f"{number}.00"):
        assert one_decimal(text) == {Decimal(number)}


@pytest.mark.parametrize(
    ("piece", "count"),
    [("111,", 2), ("1", 1), ("一千", 1), ("5块", 50_000), ("-", 1), ("百分之", 1), ("1.1", 25_000), ("半", 50_000)],
)
def test_a_long_text_is_read_to_its_end(piece, count):
    """Each of these would take minutes in a pattern that tries its parts in several ways."""
    found = sum(1 for _ in find_numbers(piece * 50_000 + "1111"))
    assert found in (count, count + 1)
