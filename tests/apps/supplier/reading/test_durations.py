import pytest

from groundwire.apps.supplier.reading import ReadingContext, read_message


def lead_times(text, **context):
    found = [each for each in read_message(text, ReadingContext(**context)) if each.goal_id == "lead_time"]
    return [(each.value, each.quote) for each in found]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("交期7到10天", "7-10d"),
        ("交期7-10天", "7-10d"),
        ("货期７～１０天", "7-10d"),
        ("交期十五天", "15d"),
        ("大货15天", "15d"),
        ("两三天发货", "2-3d"),
        ("七八天出货", "7-8d"),
        ("付款后三天出货", "3d"),
        ("48小时发货", "48h"),
        ("15个工作日交货", "15wd"),
        ("半个月交货", "15d"),
        ("大货要一个半月", "45d"),
        ("工期两周", "14d"),
        ("现在排单20天", "20d"),
        ("生产要十几天", "10d+"),
        ("确认稿子以后10天", "10d_after_artwork"),
        ("不印的话3天发货", "3d_unprinted"),
        ("200个的话要15天", "15d"),
        ("下单后48h内发出", "48h"),
        ("最快3天", "3d"),
        ("正常7个工作日", "7wd"),
        ("确认样品后20天", "20d_after_sample"),
    ],
)
def test_a_lead_time_is_its_clause(text, value):
    assert lead_times(text) == [(value, text)]


@pytest.mark.parametrize(
    ("text", "value", "quote"),
    [
        ("现货当天发", "same_day", "现货当天发"),
        ("现货秒发", "same_day", "现货秒发"),
        ("不印的话现货当天就能发", "same_day_unprinted", "现货当天就能发"),
        ("有的，今天下单明天发", "next_day", "今天下单明天发"),
    ],
)
def test_goods_may_leave_at_once(text, value, quote):
    assert lead_times(text) == [(value, quote)]


@pytest.mark.parametrize(
    "text",
    ["明天给你准信", "三天后回复你", "打样3天左右", "月结30天", "三年质保", "全天在线", "过两天告诉你", "当天发你图"],
)
def test_other_times_are_no_lead_time(text):
    assert lead_times(text) == []


@pytest.mark.parametrize(
    ("text", "asked", "values"),
    [
        ("7天", ("lead_time",), ["7d"]),
        ("大概15天左右", (), ["15d"]),
        ("7天", ("moq", "unit_price"), ["7d"]),
        ("7天", ("sample",), []),
        ("三天后回复你", ("lead_time",), []),
        ("过两天给你算好交期", ("lead_time",), []),
        ("月结30天", ("lead_time",), []),
        ("开模15天", ("lead_time",), []),
        ("要打版，打版3天", ("lead_time",), []),
    ],
)
def test_a_bare_duration_is_the_time_of_the_goods_unless_it_is_for_something_else(text, asked, values):
    assert [value for value, _ in lead_times(text, asked=asked)] == values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("下午五点前下单当天走", "same_day"),
        ("今天发", "same_day"),
        ("今天能发", "same_day"),
        ("拍下就发", "same_day"),
        ("今天拍明天走", "next_day"),
    ],
)
def test_there_are_many_words_for_leaving_at_once(text, value):
    assert [found for found, _ in lead_times(text)] == [value]
