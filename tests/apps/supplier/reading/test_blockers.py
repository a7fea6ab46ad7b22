import pytest

from groundwire.apps.supplier.reading import ReadingContext, read_message


def blockers(text, **context):
    found = [each for each in read_message(text, ReadingContext(**context)) if each.tool == "note_blocker"]
    return [(each.goal_id, each.blocker_type.value, each.quote) for each in found]


@pytest.mark.requirement("X-26")
@pytest.mark.parametrize(
    ("text", "goal_id", "quote"),
    [
        ("50个开不了机，印不了的", "customization", "50个开不了机，印不了的"),
        ("50个印不了", "customization", "50个印不了"),
        ("数量太少了", "moq", "数量太少了"),
        ("做不了这么少", "moq", "做不了这么少"),
        ("不好意思，这么少没法做", "moq", "这么少没法做"),
    ],
)
def test_a_process_that_refuses_the_amount_is_quantity_too_low(text, goal_id, quote):
    assert blockers(text) == [(goal_id, "quantity_too_low", quote)]


@pytest.mark.requirement("X-26")
@pytest.mark.parametrize("text", ["最低300个，少了不做", "起订量是300，少于300不接", "至少300个，不到这个数不发"])
def test_an_order_minimum_alone_is_moq_mismatch(text):
    assert blockers(text, qty=100) == [("moq", "moq_mismatch", text)]


def test_a_minimum_that_we_reach_blocks_nothing():
    assert blockers("最低300个，少了不做", qty=299) != []
    assert blockers("最低300个，少了不做", qty=300) == []


@pytest.mark.parametrize(
    "text",
    [
        "这个工艺我们没有",
        "丝印没有",
        "这种材料印不上去",
        "没做过这种工艺",
        "材质换不了",
        "丝印我们做不了",
        "不支持定制",
        "不接定制",
        "颜色改不了",
        "没有这种工艺",
    ],
)
def test_a_refused_process_or_material_is_spec_refusal(text):
    assert blockers(text) == [("customization", "spec_refusal", text)]


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("再低不行，老板定的我改不了", "老板定的我改不了"),
        ("我没权限", "我没权限"),
        ("价格是公司规定的", "价格是公司规定的"),
    ],
)
def test_somebody_elses_decision_is_an_authority_boundary(text, quote):
    assert blockers(text) == [("unit_price", "authority_boundary", quote)]


def test_an_authority_boundary_is_about_what_was_asked_unless_it_speaks_of_the_price():
    assert blockers("老板定的", asked=("moq",)) == [("moq", "authority_boundary", "老板定的")]
    assert blockers("价格是老板定的", asked=("moq",)) == [("unit_price", "authority_boundary", "价格是老板定的")]


@pytest.mark.parametrize("text", ["底价了", "再低就亏本了", "真的不能再低了", "已经是最低了", "再低不行"])
def test_a_floor_is_a_price_dead_end(text):
    assert blockers(text) == [("unit_price", "price_dead_end", text)]


def test_words_that_explain_a_blocker_are_no_second_one():
    assert blockers("数量太少了，机器都开不了") == [("moq", "quantity_too_low", "数量太少了，机器都开不了")]
    assert [goal for goal, *_ in blockers("数量太少了，机器都开不了", want="丝印")] == ["customization"]


def test_a_floor_stated_with_the_price_describes_the_price_and_a_refusal_defends_it():
    assert blockers("15一块，已经是底价") == []
    assert blockers("15一块，不能再低了") == [("unit_price", "price_dead_end", "不能再低了")]


@pytest.mark.parametrize("text", ["12块做不下来", "12块我们亏的", "这个价真的给不了"])
def test_a_refused_target_is_a_price_dead_end(text):
    assert blockers(text) == [("unit_price", "price_dead_end", text)]


@pytest.mark.parametrize(
    "text",
    [
        "没有设计图报不了价",
        "没有源文件没法核价",
        "可以做的",
        "做不了吗",
        "我问下老板",
        "质量没得说",
        "不含税",
        "数量多少",
        "这个颜色没有现货",
    ],
)
def test_what_refuses_nothing_is_no_blocker(text):
    assert blockers(text) == []


@pytest.mark.parametrize(
    ("text", "want", "found"),
    [
        ("80件太少了", "", [("moq", "quantity_too_low")]),
        ("一万个以下不接的", "", [("moq", "moq_mismatch")]),
        ("少于3000支不做", "", [("moq", "moq_mismatch")]),
        ("100个以下不接", "", []),
        ("贴花这边做不来", "贴花", [("customization", "spec_refusal")]),
        ("瓶子换不了", "换瓶子", [("customization", "spec_refusal")]),
        ("瓶子换不了", "", []),
        ("45拿不到的，成本都不够", "", [("unit_price", "price_dead_end")]),
        ("没尺寸没法报", "激光", []),
        ("8块真做不了", "", [("unit_price", "price_dead_end")]),
        ("100个印logo划不来", "印logo", [("customization", "quantity_too_low")]),
        ("这个价格我定不了", "", [("unit_price", "authority_boundary")]),
    ],
)
def test_obstacles_are_told_in_many_words(text, want, found):
    captures = read_message(text, ReadingContext(qty=500, want=want))
    assert [(each.goal_id, each.blocker_type) for each in captures if each.tool == "note_blocker"] == found


def test_a_bare_refusal_is_of_the_one_thing_that_was_asked():
    for text, asked, count in [("做不了的", ("customization",), 1), ("做不了的", ("moq", "customization"), 0)]:
        assert sum(each.tool == "note_blocker" for each in read_message(text, ReadingContext(asked=asked))) == count
