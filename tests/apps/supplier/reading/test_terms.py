import pytest

from groundwire.apps.supplier.reading import ReadingContext, read_message


def facts(goal_id, text, **context):
    found = [each for each in read_message(text, ReadingContext(**context)) if each.goal_id == goal_id]
    return [(each.value, each.quote) for each in found if each.tool == "log_data"]


@pytest.mark.parametrize(
    ("text", "value", "quote"),
    [
        ("拿样18一根，大货要看数量", "18", "拿样18一根"),
        ("打样费50", "50", "打样费50"),
        ("打样费50，可退", "50|refundable", "打样费50，可退"),
        ("样品费30块不退的", "30|not_refundable", "样品费30块不退的"),
        ("打样3天左右", "3d", "打样3天左右"),
        ("打样3到5天，打样费100元", "3-5d|100", "打样3到5天，打样费100元"),
        ("样品免费，运费到付", "free", "样品免费"),
    ],
)
def test_a_sample_has_a_fee_days_and_a_way_back(text, value, quote):
    assert facts("sample", text) == [(value, quote)]


@pytest.mark.parametrize("text", ["可以打样", "样品费可退吗", "样品要吗", "确认样品后20天"])
def test_samples_without_terms_are_no_fact(text):
    assert facts("sample", text) == []


@pytest.mark.parametrize(
    ("text", "value", "quote"),
    [
        ("可以定制，数码印花", "digital_print", "可以定制，数码印花"),
        ("丝印我们做不了，只能激光", "laser_only", "只能激光"),
        ("丝印烫金都可以做", "silk_screen|hot_stamping", "丝印烫金都可以做"),
        ("支持来图定制", "custom_from_drawing", "支持来图定制"),
        ("可以印logo的", "logo_print", "可以印logo的"),
        ("可以定制", "available", "可以定制"),
        ("版费300", "plate_fee=300", "版费300"),
        ("开版费一个颜色150", "plate_fee=150", "开版费一个颜色150"),
        ("印单色logo加3毛", "surcharge=0.3", "印单色logo加3毛"),
        ("烫金3毛一个", "surcharge=0.3", "烫金3毛一个"),
        ("免版费", "plate_fee=0", "免版费"),
        ("开模费要2000元", "mould_fee=2000", "开模费要2000元"),
        ("贴牌没问题", "private_label", "贴牌没问题"),
    ],
)
def test_a_way_of_customizing_is_read(text, value, quote):
    assert facts("customization", text) == [(value, quote)]


@pytest.mark.parametrize(
    "text",
    ["压字要问师傅", "丝印做不了", "不支持定制", "要印logo吗", "印logo的话最少200个起", "要印刷就发个稿子，不印也行"],
)
def test_a_question_a_condition_and_a_refusal_offer_nothing(text):
    assert facts("customization", text) == []


def test_a_method_alone_answers_the_question():
    assert facts("customization", "刺绣", asked=("customization",)) == [("embroidery", "刺绣")]
    assert facts("customization", "刺绣") == []


@pytest.mark.parametrize("text", ["压字要问师傅", "激光我问下", "刺绣问一下老板"])
def test_who_has_to_ask_has_not_answered_yet(text):
    assert facts("customization", text, asked=("customization",)) == []


@pytest.mark.parametrize("text", ["中性包装，带吊牌", "彩盒另算5毛", "opp袋", "ＯＰＰ袋独立包装"])
def test_packaging_is_kept_in_the_suppliers_words(text):
    assert [quote for _, quote in facts("packaging", text)] == [text]


def test_an_item_that_is_packaging_says_nothing_of_packaging():
    assert facts("packaging", "彩盒有货", item="彩盒") == []
    assert len(facts("packaging", "彩盒有货", item="杯子")) == 1


@pytest.mark.parametrize("text", ["30%定金，尾款发货前付清", "月结30天", "要全款的", "可以走平台", "开票加3个点"])
def test_payment_is_kept_in_the_suppliers_words(text):
    assert facts("payment", text) == [(text, text)]


@pytest.mark.parametrize("text", ["付款后三天出货", "可以月结吗"])
def test_paying_first_and_questions_are_no_terms_of_payment(text):
    assert facts("payment", text) == []


@pytest.mark.parametrize(
    ("text", "value", "quote"),
    [
        ("亲，在的，这款现货", "in_stock", "这款现货"),
        ("素色三种，都有货", "in_stock", "素色三种，都有货"),
        ("没有现货，要排单20天", "out_of_stock", "没有现货"),
        ("卖完了", "out_of_stock", "卖完了"),
        ("这个颜色没有现货", "out_of_stock", "这个颜色没有现货"),
        ("这款停产了", "discontinued", "这款停产了"),
        ("已经不生产了", "discontinued", "已经不生产了"),
    ],
)
def test_stock_is_read(text, value, quote):
    assert facts("availability", text) == [(value, quote)]


@pytest.mark.parametrize("text", ["有现货吗", "现货？", "还没停产", "在的", "不印的话现货当天就能发"])
def test_what_says_nothing_of_stock_is_none(text):
    assert facts("availability", text) == []
