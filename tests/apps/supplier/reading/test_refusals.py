import pytest

from groundwire.apps.supplier.reading.refusals import find_refusal, offers_something


def quote(text):
    span = find_refusal(text)
    return span and text[span[0] : span[1]]


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("这个我们不做了", "这个我们不做了"),
        ("不好意思，这款停产了", "这款停产了"),
        ("没货了也不补", "没货了也不补"),
        ("我们不接定制单", "我们不接定制单"),
        ("不接小单", "不接小单"),
        ("找别家吧", "找别家吧"),
        ("您问问别家吧", "您问问别家吧"),
        ("不卖外贸的", "不卖外贸的"),
        ("小单不接的", "小单不接的"),
        ("这个我们做不了，您找别人吧", "您找别人吧"),
        ("不做了，不过您可以问问别家", "不做了"),
    ],
)
def test_each_wording_refuses_everything(text, refusal):
    assert quote(text) == refusal


@pytest.mark.parametrize(
    "text",
    [
        "不接小单，不过你加到200可以",
        "不接小单但加到200可以",
        "不接小单，200个以上可以",
        "这款停产了，要不看看新款",
        "停产了，推荐您看另一款",
        "不接定制单，现货可以拿",
    ],
)
def test_an_offer_in_the_same_message_takes_it_back(text):
    assert quote(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "要不做了样再看",
        "你们做不做了",
        "我们不做了解就报价不好",
        "不做了吗",
        "如果不做了样品费不退",
        "您不做了跟我说一声",
        "还没停产",
        "不会停产的",
        "停产了吗",
        "停产了？",
        "停产前可以再拿一批",
        "少了不做",
        "不能做了丝印再激光",
        "定制不做了",
        "红色停产了",
        "小号停产了",
        "活动不做了",
        "别家没有我们便宜",
        "您可以去别家比比",
        "别找别家了",
        "丝印做不了",
        "做完了",
        "接小单的",
    ],
)
def test_what_refuses_less_or_nothing_is_no_refusal(text):
    assert quote(text) is None


def test_a_later_message_may_offer_something():
    assert offers_something("要不换一款")
    assert not offers_something("不好意思")
    assert not offers_something("您可以问问别家")


@pytest.mark.parametrize("text", ["没货了，不补了", "抱歉，不做这个了", "去别处看看吧"])
def test_refusals_are_known_in_other_words(text):
    assert find_refusal(text) is not None


def test_to_have_nothing_else_is_no_offer():
    assert find_refusal("其他的也没有了，您去别家看看吧") is not None
    assert find_refusal("这款停产了，其他款有") is None
    assert find_refusal("这款没货了，也不补了") is not None
    assert find_refusal("没货了，下周补货") is None
