import pytest

from groundwire.apps.supplier.reading import ReadingContext, read_message
from groundwire.apps.supplier.reading.numbers import spell
from groundwire.apps.supplier.reading.prices import parse_money


def prices(text, **context):
    found = [each for each in read_message(text, ReadingContext(**context)) if each.goal_id == "unit_price"]
    return [(each.value, each.quote) for each in found if each.tool == "log_data"]


@pytest.mark.parametrize(
    ("text", "yuan"),
    [
        ("6.5", "6.5"),
        ("6块5", "6.5"),
        ("六块五", "6.5"),
        ("6块5毛", "6.5"),
        ("6元5角", "6.5"),
        ("1块2毛5", "1.25"),
        ("2块半", "2.5"),
        ("6块零5", "6.05"),
        ("5毛", "0.5"),
        ("3毛5", "0.35"),
        ("十五块", "15"),
        ("¥28", "28"),
        ("2分钱", "0.02"),
        ("8分", "0.08"),
        ("1'200元", "1200"),
    ],
)
def test_money_is_read_in_yuan(text, yuan):
    assert spell(parse_money(text)) == yuan


@pytest.mark.parametrize("text", ["", "块", "两三块", "6块5块", "六五"])
def test_what_is_no_amount_is_none(text):
    assert parse_money(text) is None


@pytest.mark.parametrize(
    ("text", "value", "quote"),
    [
        ("6块5", "6.5", "6块5"),
        ("六块五一个", "6.5", "六块五一个"),
        ("5毛", "0.5", "5毛"),
        ("15一个", "15", "15一个"),
        ("一个15", "15", "一个15"),
        ("6.5/个", "6.5", "6.5/个"),
        ("每个6.5元", "6.5", "每个6.5元"),
        ("5块一个", "5", "5块一个"),
        ("5块2一个", "5.2", "5块2一个"),
        ("15一块，已经是底价", "15", "15一块"),
        ("一百二一套", "120", "一百二一套"),
        ("底价15", "15", "底价15"),
        ("出厂价12.8", "12.8", "出厂价12.8"),
        ("批发价是8块", "8", "批发价是8块"),
        ("单价６．５元", "6.5", "单价６．５元"),
        ("最低可以做到5.8", "5.8", "最低可以做到5.8"),
        ("9块9包邮", "9.9", "9块9包邮"),
        ("差不多15块", "15", "15块"),
        ("2分钱一张", "0.02", "2分钱一张"),
        ("一包100个25元", "25/包", "一包100个25元"),
        ("５毛一条，不含税，开票加８个点", "0.5", "５毛一条，不含税，开票加８个点"),
        ("14.5不能再少了", "14.5", "14.5"),
        ("打样3天，5块2一个", "5.2", "5块2一个"),
        ("印好logo 6块5一个", "6.5", "6块5一个"),
        ("1.35含税含运", "1.35", "1.35含税含运"),
        ("单价6.5，不含税", "6.5", "单价6.5，不含税"),
        ("6.5，开票加3个点", "6.5", "6.5，开票加3个点"),
        ("12-15元一个", "12-15", "12-15元一个"),
        ("6块5起", "6.5", "6块5"),
        ("大概20到25块", "20-25", "20到25块"),
        ("6.5起", "6.5", "6.5起"),
        ("一箱120块", "120/箱", "一箱120块"),
        ("1,200元一台", "1200", "1,200元一台"),
        ("22块500个起", "22", "22块"),
    ],
)
def test_a_price_is_read_with_the_words_that_belong_to_it(text, value, quote):
    assert prices(text) == [(value, quote)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("500ml的100个22块，500个20块，1000以上18.5", "22@100|20@500|18.5@1000"),
        ("100个22,500个20,1000以上18.5", "22@100|20@500|18.5@1000"),
        ("１００个２２块，５００个２０块", "22@100|20@500"),
        ("100件6块5；1w件5块8", "6.5@100|5.8@10000"),
        ("100个起22，500个起20", "22@100|20@500"),
        ("10-49个 12.5元，50-99个 11.8元，≥100个 10.9元", "12.5@10|11.8@50|10.9@100"),
        ("100个以内9.5，100个以上8.8", "9.5@1|8.8@100"),
    ],
)
def test_all_price_breaks_are_kept(text, value):
    assert [found for found, _ in prices(text)] == [value]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("大号13.5，小号9块", "13.5|9"),
        ("30公分的12块，40公分的15块", "12|15"),
        ("红色12，蓝色12.5", "12|12.5"),
        ("A款8块 B款9块", "8|9"),
        ("S码25，M码27，L码29", "25|27|29"),
        ("500ml 22块，750ml 28块", "22|28"),
    ],
)
def test_prices_by_size_are_joined_in_their_order(text, value):
    assert prices(text) == [(value, text)]


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("单价6.5，不含税", ["tax_excluded"]),
        ("1.35含税含运", ["tax_included|freight_included"]),
        ("6.5，开票加3个点", ["tax+3%"]),
        ("含税7块，不含税6.5", ["tax_included", "tax_excluded"]),
        ("8块，运费到付", ["freight_excluded"]),
    ],
)
def test_tax_and_freight_are_noted(text, notes):
    assert [each.note for each in read_message(text) if each.goal_id == "unit_price"] == notes


@pytest.mark.parametrize(
    "text",
    [
        "200块起",
        "下午3点给你",
        "3点回复你",
        "加3个点",
        "运费12块",
        "打样费50块",
        "版费300元",
        "定金500元",
        "满1000包邮",
        "老客户8折",
        "5块2个",
        "每个加5毛",
        "最多便宜5毛",
        "低于100件加收50元",
        "烫金3毛一个",
        "logo费用另算，1块一个",
        "可以先拍样品，12元包邮",
        "12块做不下来",
        "12块我们亏的",
        "印logo加3毛",
        "10块钱3个",
        "每箱50个",
        "价格明天给你",
        "三天后报价",
        "交期最快做到5天",
        "重量200g",
        "月销3000",
    ],
)
def test_what_only_looks_like_a_price_is_none(text):
    assert prices(text) == []


@pytest.mark.parametrize(
    ("text", "asked", "values"),
    [
        ("6.5", ("unit_price",), ["6.5"]),
        ("大概六块五吧", ("unit_price",), ["6.5"]),
        ("6.5", ("moq",), []),
        ("6.5", (), []),
    ],
)
def test_a_bare_number_is_a_price_where_one_was_asked_for(text, asked, values):
    assert [value for value, _ in prices(text, asked=asked)] == values
