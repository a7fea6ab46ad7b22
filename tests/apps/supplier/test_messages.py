import pytest

from groundwire.apps.supplier.contracts import HistoryEntry
from groundwire.apps.supplier.messages import (
    classify_message,
    is_canned_text,
    is_human,
    media_tokens,
    parse_time,
    time_of,
)


def supplier(content, timestamp=""):
    return HistoryEntry(role="supplier", content=content, timestamp=timestamp)


def bot(content, timestamp=""):
    return HistoryEntry(role="bot", content=content, timestamp=timestamp)


def kind_of(*history):
    found = classify_message(history, len(history) - 1)
    return found.kind.value, found.why, found.human, found.readable


@pytest.mark.parametrize(
    "text",
    [
        "【自动回复】现在是休息时间",
        "[自动回复] 您好",
        "（自动回复）您好",
        "自动回复：您好",
        "系统消息：对方已收到",
        "【系统消息】",
        "亲，欢迎光临，客服正在飞奔而来",
        "客服正在赶来",
        "请稍等，马上回复",
        "请稍等,马上回复您",
        "本店工作时间为9点到18点",
        "亲，当前咨询人数较多，请耐心等待",
        "我是机器人客服小蜜",
        "您的消息已收到，我们会尽快回复",
    ],
)
def test_canned_words_are_no_person(text):
    assert kind_of(supplier(text)) == ("canned", "marker", False, False)


@pytest.mark.parametrize(
    "text",
    [
        "我不是自动回复，是真人",
        "系统消息我没看到",
        "稍等，我看下",
        "马上回复你",
        "欢迎来厂里看",
        "我们上班时间早9点到晚6点",
    ],
)
def test_a_person_may_use_like_words(text):
    assert not is_canned_text(text)
    assert kind_of(supplier(text)) == ("text", "", True, True)


def test_words_seen_before_from_this_supplier_are_canned():
    text = "您好，有什么可以帮您"
    assert kind_of(supplier(text), bot("起订量多少"), supplier(text)) == ("canned", "repeat", False, False)
    assert kind_of(bot(text), supplier(text)) == ("text", "", True, True)


def test_people_repeat_short_words_and_pictures():
    assert kind_of(supplier("好的好的"), supplier("好的好的")) == ("text", "", True, True)
    assert kind_of(supplier("好的好的哦"), supplier("好的好的哦")) == ("canned", "repeat", False, False)
    assert kind_of(supplier("[图片][图片]"), supplier("[图片][图片]")) == ("media", "token", True, True)


@pytest.mark.parametrize(
    ("answered", "expected"),
    [
        ("2026-03-11T10:00:01.999+08:00", ("canned", "at_once", False, False)),
        ("2026-03-11T10:00:02+08:00", ("text", "", True, True)),
        ("2026-03-11T02:00:01Z", ("canned", "at_once", False, False)),
        ("2026-03-11T09:59:59+08:00", ("text", "", True, True)),
        ("2026-03-11T10:00:01", ("text", "", True, True)),
        ("soon", ("text", "", True, True)),
        ("", ("text", "", True, True)),
    ],
)
def test_a_reply_under_two_seconds_after_ours_is_canned(answered, expected):
    assert kind_of(bot("在吗", "2026-03-11T10:00:00+08:00"), supplier("在的", answered)) == expected


@pytest.mark.parametrize("text", ["[语音]", "[语音消息]", "【语音消息】"])
def test_a_voice_message_is_a_person_who_cannot_be_read(text):
    assert kind_of(supplier(text)) == ("voice", "token", True, False)


def test_a_recalled_message_is_a_person_who_said_nothing():
    assert kind_of(supplier("[撤回了一条消息]")) == ("recalled", "token", True, False)


def test_a_picture_with_a_caption_can_be_read():
    assert kind_of(supplier("[图片] 大号9块")) == ("media", "token", True, True)


def test_only_a_suppliers_message_is_from_a_human_supplier():
    history = [bot("您好"), supplier("在的"), supplier("欢迎光临")]
    assert [is_human(history, index) for index in range(3)] == [False, True, False]


def test_tokens_have_their_type_count_caption_and_place():
    (token,) = media_tokens("看 [图片]x2 正反面 ")
    assert (token.name, token.media_type, token.count, token.caption) == ("图片", "image", 2, "正反面")
    assert "看 [图片]x2 正反面 "[token.start : token.end] == "[图片]x2 正反面"


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("图片", "image"),
        ("视频", "file"),
        ("文件", "file"),
        ("语音", None),
        ("语音消息", None),
        ("表情", None),
        ("动画表情", None),
        ("位置", None),
        ("商品卡片", None),
        ("链接", None),
        ("名片", None),
        ("撤回了一条消息", None),
    ],
)
def test_each_token_of_the_chat_is_known(name, media_type):
    (token,) = media_tokens(f"[{name}]")
    assert (token.name, token.media_type, token.caption) == (name, media_type, "")


def test_other_brackets_are_words():
    assert media_tokens("[大号] 9块") == ()


@pytest.mark.parametrize(
    "timestamp", ["", "soon", "2026-03-11T10:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"]
)
def test_a_time_that_no_calendar_reaches_is_no_time(timestamp):
    assert parse_time(timestamp) is None


def test_a_message_without_a_time_was_said_before_the_next_that_has_one():
    history = [supplier("a"), bot("b", "2026-03-11T10:00:00+08:00"), supplier("c")]
    assert [time_of(history, place) for place in range(3)] == [parse_time(history[1].timestamp)] * 2 + [None]
