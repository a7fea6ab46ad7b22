import pytest

from groundwire.apps.supplier.reading import read_message


def requests(text):
    found = [each for each in read_message(text) if each.tool == "note_file_request"]
    return [(each.asset_type, each.urgency, each.quote) for each in found]


@pytest.mark.parametrize(
    ("text", "asset", "quote"),
    [
        ("没有设计图报不了价，先发过来我让师傅看", "design", "没有设计图报不了价"),
        ("没有源文件没法核价，AI或者PSD都行", "design", "没有源文件没法核价"),
        ("印哪个位置要先出效果图，发我才好算", "design", "要先出效果图"),
        ("请提供矢量图，才能报价", "design", "提供矢量图"),
        ("没有规格书不好报价", "spec_sheet", "没有规格书不好报价"),
        ("先发logo过来", "logo", "先发logo过来"),
        ("这个要看图才能报价", "sample_photo", "要看图才能报价"),
        ("没有授权书不能做", "other", "没有授权书不能做"),
    ],
)
def test_a_file_that_a_price_waits_for_is_blocking(text, asset, quote):
    assert requests(text)[:1] == [(asset, "blocking_quote", quote)]


@pytest.mark.parametrize(
    ("text", "asset", "quote"),
    [
        ("有参考图也可以发来看看", "sample_photo", "有参考图也可以发来看看"),
        ("要不你发个logo，刻字算我送的", "logo", "要不你发个logo"),
        ("要印刷就发个稿子，不印也行", "design", "要印刷就发个稿子，不印也行"),
        ("方便的话发下图纸", "spec_sheet", "方便的话发下图纸"),
        ("把logo发我一下", "logo", "把logo发我一下"),
        ("有设计稿吗？AI格式的", "design", "有设计稿吗"),
        ("你发我logo我做个效果图给你看", "logo", "你发我logo我做个效果图给你看"),
    ],
)
def test_a_file_that_would_only_help_is_nice_to_have(text, asset, quote):
    assert requests(text) == [(asset, "nice_to_have", quote)]


@pytest.mark.parametrize(
    "text",
    [
        "我发你效果图",
        "图片发你了",
        "[图片] 手柄有这几种",
        "[文件] 报价单.xlsx",
        "含税价在表里",
        "可以印logo",
    ],
)
def test_a_supplier_who_sends_requests_nothing(text):
    assert requests(text) == []


def test_a_file_is_blocking_where_the_next_words_say_so():
    [request] = [each for each in read_message("矢量图给我一份，没有的话做不了版") if each.tool == "note_file_request"]
    assert (request.asset_type, request.urgency) == ("design", "blocking_quote")
