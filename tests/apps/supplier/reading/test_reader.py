import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.apps.supplier.reading import ReadingContext, asked_goals, read_message

WORDS = st.sampled_from(
    [
        "200",
        "6.5",
        "个",
        "块",
        "元",
        "毛",
        "起",
        "一",
        "一起",
        "起码",
        "最少",
        "起订量",
        "1w",
        "万",
        "，",
        "。",
        ":",
        "22",
        "天",
        "小时",
        "到",
        "-",
        "单价",
        "大号",
        "小号",
        "不含税",
        "打样",
        "现货",
        "logo",
        "印",
        "做不了",
        "没有",
        "发我",
        "[图片]",
        "[语音消息]",
        "【自动回复】",
        "点",
        "加",
        "半",
        "两三",
        "个月",
        "老板定的",
        "亏本",
        "定金",
        "彩盒",
        "１００",
        "￥",
        "\n",
    ]
)


def test_a_message_with_several_facts_gives_them_in_order():
    captures = read_message("有现货，100个起，5块2一个，交期7天，中性包装")
    assert [(each.goal_id, each.value) for each in captures] == [
        ("availability", "in_stock"),
        ("moq", "100"),
        ("unit_price", "5.2"),
        ("lead_time", "7d"),
        ("packaging", "中性包装"),
    ]


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("80顶起", {"goalId": "moq", "value": "80", "supplierQuote": "80顶起"}),
        (
            "丝印做不了",
            {
                "goalId": "customization",
                "blockerType": "spec_refusal",
                "reason": "规格或工艺做不了",
                "supplierQuote": "丝印做不了",
            },
        ),
        ("先发logo", {"assetType": "logo", "urgency": "blocking_quote", "supplierQuote": "先发logo"}),
        ("[图片] 正面", {"mediaType": "image", "description": "正面", "supplierQuote": "[图片] 正面"}),
    ],
)
def test_a_capture_is_the_call_of_a_tool(text, args):
    (capture,) = read_message(text)
    assert capture.args == args


@pytest.mark.requirement("A-024")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[图片]", [("image", "图片", "[图片]")]),
        ("[图片]x2", [("image", "图片×2", "[图片]x2")]),
        ("[图片][图片] 尺寸", [("image", "尺寸", "[图片][图片] 尺寸")]),
        ("[视频] 车间", [("file", "车间", "[视频] 车间")]),
        ("[文件] 报价6.5元.xlsx", [("file", "报价6.5元.xlsx", "[文件] 报价6.5元.xlsx")]),
        ("[图片] 正面[文件] 表.pdf", [("image", "正面", "[图片] 正面"), ("file", "表.pdf", "[文件] 表.pdf")]),
        ("[语音]", []),
        ("[语音消息]", []),
        ("[表情]", []),
        ("[商品卡片]", []),
        ("[撤回了一条消息]", []),
    ],
)
def test_media_is_acknowledged_by_its_token_and_caption_alone(text, expected):
    assert [(each.media_type, each.description, each.quote) for each in read_message(text)] == expected


def test_a_caption_states_facts():
    assert [(each.tool, each.value) for each in read_message("[图片] 大号13.5，小号9块")] == [
        ("acknowledge_media", ""),
        ("log_data", "13.5|9"),
    ]


def test_a_token_is_no_part_of_the_words_beside_it():
    assert [(each.value, each.quote) for each in read_message("[表情]彩盒：独立包装")] == [
        ("彩盒：独立包装", "彩盒：独立包装")
    ]


def test_canned_text_states_no_fact():
    assert read_message("【自动回复】本店100个起，单价6.5") == ()


def test_quotes_keep_the_width_and_spaces_of_the_message():
    assert [each.quote for each in read_message("亲： １００ 个起 ，单价 ６．５")] == ["１００ 个起", "单价 ６．５"]


@pytest.mark.parametrize(
    ("question", "goals"),
    [
        ("请问起订量多少？", ("moq",)),
        ("价格和交期怎么样", ("unit_price", "lead_time")),
        ("可以印logo吗", ("customization",)),
        ("好的谢谢", ()),
    ],
)
def test_our_question_names_its_goals(question, goals):
    assert asked_goals(question) == goals


@given(
    st.one_of(st.text(), st.lists(WORDS, max_size=30).map("".join)),
    st.sampled_from(["", "moq", "unit_price", "lead_time"]),
)
def test_any_text_is_read_and_every_quote_is_part_of_it(text, asked):
    for capture in read_message(text, ReadingContext(asked=(asked,) if asked else (), qty=50)):
        assert capture.quote
        assert text[capture.start : capture.end] == capture.quote


@pytest.mark.parametrize(
    "unit", ["1", "一", "6块5", "100个22块，", "最少", "[图片]", "大号9，", "没有", "到7", "起订量 ", " ", "，"]
)
def test_reading_takes_time_in_proportion_to_length(unit):
    def seconds(length):
        text = (unit * length)[:length]
        best = float("inf")
        for _ in range(3):
            before = time.process_time()
            read_message(text)
            best = min(best, time.process_time() - before)
        return best

    assert seconds(16_000) < 64 * seconds(1000) + 0.02


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("一块二", "1.2"),
        ("一块两毛五", "1.25"),
        ("一块零五", "1.05"),
        ("1块2", "1.2"),
        ("一块二一个", "1.2"),
        ("一块15", "15"),
        ("15一块", "15"),
        ("8块到付", "8"),
        ("5到6块", "5-6"),
    ],
)
def test_one_yuan_and_some_is_no_board_for_so_much(text, value):
    assert [capture.value for capture in read_message(text) if capture.goal_id == "unit_price"] == [value]


@pytest.mark.requirement("X-26")
def test_an_amount_that_a_process_refuses_is_too_low_and_not_a_refusal_of_the_process():
    (blocker,) = read_message("50个太少，印不了")
    assert (blocker.goal_id, blocker.blocker_type, blocker.quote) == (
        "customization",
        "quantity_too_low",
        "50个太少，印不了",
    )
