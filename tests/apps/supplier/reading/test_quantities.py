import pytest

from groundwire.apps.supplier.reading import ReadingContext, read_message


def moq(text, **context):
    found = [each for each in read_message(text, ReadingContext(**context)) if each.goal_id == "moq" and each.value]
    return [(each.value, each.quote) for each in found]


@pytest.mark.parametrize(
    ("text", "value", "quote"),
    [
        ("起订量200个", "200", "起订量200个"),
        ("起批量是五百件", "500", "起批量是五百件"),
        ("最低起订100", "100", "最低起订100"),
        ("MOQ：1000，谢谢", "1000", "MOQ：1000"),
        ("这个要50个起", "50", "50个起"),
        ("500起", "500", "500起"),
        ("30件起拿", "30", "30件起拿"),
        ("80顶起", "80", "80顶起"),
        ("印logo200个起", "200", "200个起"),
        ("印logo的话最少200个起", "200", "最少200个起"),
        ("最少做五百件的", "500", "最少做五百件"),
        ("至少要300套", "300", "至少要300套"),
        ("20个以上才能做", "20", "20个以上才能做"),
        ("不接小单，不过你加到200可以", "200", "加到200可以"),
        ("起码200个才接", "200", "起码200个"),
        ("100个做不了，至少300", "300", "至少300"),
        ("丝印可以，但是要200个以上", "200", "要200个以上"),
        ("不少于200件", "200", "不少于200件"),
        ("起订量的话，每色100件", "100", "起订量的话，每色100件"),
        ("7.8元/个（1000个起）", "1000", "1000个起"),
        ("200-300个起", "200-300", "200-300个起"),
    ],
)
def test_the_smallest_order_is_read_in_each_wording(text, value, quote):
    assert moq(text) == [(value, quote)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1w个起", "10000"),
        ("1W起", "10000"),
        ("1.5万个起", "15000"),
        ("3k起", "3000"),
        ("两千个起", "2000"),
        ("１００个起", "100"),
        ("1,000个起", "1000"),
        ("22块500个起", "500"),
    ],
)
def test_numbers_of_any_size_and_width_are_read(text, value):
    assert [found for found, _ in moq(text)] == [value]


def test_a_dozen_is_twelve_and_the_note_keeps_the_word():
    (capture,) = read_message("10打起")
    assert (capture.value, capture.note) == ("120", "10打")


def test_mixed_models_are_noted():
    (capture,) = read_message("混款混色50个起")
    assert (capture.value, capture.note) == ("50", "mixed")


@pytest.mark.parametrize("text", ["一件代发", "支持代发的", "一件起批", "没有起订量", "一个也卖"])
def test_drop_shipping_and_no_minimum_are_one(text):
    assert [value for value, _ in moq(text)] == ["1"]


@pytest.mark.parametrize(("text", "value"), [("5箱起", "5箱"), ("最少100米", "100米"), ("50公斤起", "50公斤")])
def test_what_is_not_counted_in_pieces_keeps_its_unit(text, value):
    assert [found for found, _ in moq(text)] == [value]


def test_boards_are_counted_in_kuai():
    assert moq("200块起") == [("200", "200块起")]


@pytest.mark.parametrize(
    "text",
    [
        "我们一起看下200个的价格",
        "一起发给你",
        "100个起码要7天",
        "起码要10天",
        "6块5起",
        "6.5起",
        "单价20块起",
        "100元起",
        "15天起",
        "5号起涨价",
        "价格涨起来了200",
        "你要多少个",
        "每箱50个",
        "200件以上包邮",
        "100W的灯",
        "最低6块5",
        "月销3000",
    ],
)
def test_what_only_looks_like_a_minimum_is_none(text):
    assert moq(text) == []


@pytest.mark.parametrize(
    ("text", "asked", "value"),
    [
        ("200", ("moq",), ["200"]),
        ("大概200个吧", ("moq",), ["200"]),
        ("200", ("unit_price",), []),
        ("200", ("moq", "unit_price"), []),
        ("200", (), []),
    ],
)
def test_a_bare_number_answers_the_one_question_that_was_asked(text, asked, value):
    assert [found for found, _ in moq(text, asked=asked)] == value
