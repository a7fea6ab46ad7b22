"""Several prices at once are one fact."""

import pytest

from groundwire.apps.supplier.reading import ReadingContext, read_message


def prices(text, **context):
    found = [each for each in read_message(text, ReadingContext(**context)) if each.goal_id == "unit_price"]
    return [(each.value, each.quote) for each in found if each.tool == "log_data"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("16G的18，32G的22，64G的28", "18|22|28"),
        ("10000毫安的38，20000毫安的55", "38|55"),
        ("A5的4.2，A6的3.1", "4.2|3.1"),
        ("1.8米的85，2米的98", "85|98"),
        ("1米的50，2米的98", "50|98"),
        ("三件套15.8，五件套22.8", "15.8|22.8"),
        ("偏光9块9，普通6块6", "9.9|6.6"),
        ("刀28一把，带盒子30", "28|30"),
        ("印logo的5块，不印的4块5", "5|4.5"),
        ("PVC的1.5元，金属的6元", "1.5|6"),
        ("45*45的12；50*50的14", "12|14"),
    ],
)
def test_prices_by_kind_are_joined(text, value):
    assert prices(text) == [(value, text)]


def test_bare_numbers_are_prices_by_kind_where_they_stand_behind_the_goods_name():
    assert prices("木托盘55，塑料托盘98", item="托盘") == [("55|98", "木托盘55，塑料托盘98")]
    assert prices("木托盘55，塑料托盘98", item="货架") == []


@pytest.mark.parametrize(
    "text",
    [
        "长30，宽20，高15",
        "外径5.5，内径4.8",
        "打样30块，大货另算",
        "丝印1块5，激光2块",
        "交期7天，工期10天",
        "库存500.5，还剩30.5",
        "优惠5.5，再减3.5",
    ],
)
def test_other_figures_in_a_row_are_no_prices(text):
    assert prices(text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12块8一把，500把以上12块", "12.8@1|12@500"),
        ("500个以上9块5", "9.5@500"),
        ("1000个给你18.5", "18.5@1000"),
        ("五千支可以给到四毛二", "0.42@5000"),
    ],
)
def test_a_price_for_more_says_from_how_many(text, value):
    assert prices(text) == [(value, text)]


@pytest.mark.parametrize(
    ("text", "asked", "value"),
    [
        ("帽子本身12", ("unit_price", "lead_time"), ["12"]),
        ("这款52", ("moq", "unit_price"), ["52"]),
        ("帽子本身12", (), []),
    ],
)
def test_the_goods_name_and_a_number_answer_a_question_for_the_price(text, asked, value):
    assert [price for price, _ in prices(text, item="棒球帽子", asked=asked)] == value
