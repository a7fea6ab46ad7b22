"""Whole conversations about goods that no recorded case has: what is captured, where it ends, and who is told."""

import pytest

from groundwire.apps.supplier.agents import supplier_registry
from groundwire.apps.supplier.contracts import GroundingMode, Status
from groundwire.apps.supplier.evaluation.cases import Case, Wanted
from groundwire.apps.supplier.evaluation.driving import carry_out_case
from groundwire.apps.supplier.negotiator import rules_models
from groundwire.evals import Contestant
from groundwire.testing import FakeClock

CONVERSATIONS = [
    (
        Wanted(item="竹牙刷", qty=2000, want="刻字"),
        ("您好在的", "起批量3000支，刻字免费", "1块2毛5一支", "下单后一周左右发货"),
        ["moq=3000", "customization=surcharge=0", "unit_price=1.25", "lead_time=7d"],
        Status.COMPLETED,
        [],
    ),
    (
        Wanted(item="工作服", qty=80, want="绣花"),
        ("最低要100件才能绣", "80件太少了，师傅不愿意接", "单价45，不含绣花", "货期15到20天"),
        ["moq=100", "moq:quantity_too_low", "unit_price=45", "lead_time=15-20d"],
        Status.COMPLETED,
        ["human_escalation"],
    ),
    (
        Wanted(item="螺丝", qty=100_000),
        ("M6的8分一个，M8的一毛二", "10kg起", "有库存，拍下就发"),
        ["unit_price=0.08|0.12", "moq=10kg", "availability=in_stock", "lead_time=same_day"],
        Status.COMPLETED,
        [],
    ),
    (
        Wanted(item="包装袋", qty=5000, want="印刷"),
        ("一万个以下不接的", "先把设计稿给我，才好安排", "15天"),
        ["moq=10000", "moq:moq_mismatch", "design:blocking_quote", "lead_time=15d"],
        Status.COMPLETED,
        ["human_escalation", "asset_request"],
    ),
    (
        Wanted(item="香薰", qty=200, want="换瓶子"),
        ("瓶子换不了，模具固定的", "29.9一瓶，100瓶起订", "过两天给你算好交期"),
        ["customization:spec_refusal", "unit_price=29.9", "moq=100"],
        Status.COMPLETED,
        ["human_escalation", "schedule_follow_up"],
    ),
    (
        Wanted(item="木盒", qty=300, want="激光雕刻"),
        ("尺寸发我，我算一下价格", "没尺寸没法报", "起订量是100个", "工期20天"),
        ["spec_sheet:nice_to_have", "spec_sheet:blocking_quote", "moq=100", "lead_time=20d"],
        Status.COMPLETED,
        ["asset_request"],
    ),
    (
        Wanted(item="帽子", qty=60, want="刺绣"),
        ("刺绣按针数算的，1万针以内6块", "帽子本身12", "要打版，打版3天，大货一周"),
        ["customization=embroidery", "customization=surcharge=6", "unit_price=12", "sample=3d", "lead_time=7d"],
        Status.COMPLETED,
        [],
    ),
    (
        Wanted(item="登山包", qty=100, want="印logo"),
        ("在的老板", "方便加个V吗，图册发你", "我V：abc12345，你加我"),
        [],
        Status.WECHAT_REDIRECT,
        ["wechat_redirect"],
    ),
    (
        Wanted(item="雨衣", qty=300),
        ("具体的我们微信聊吧", "不加微信没法给你报价"),
        [],
        Status.WECHAT_REDIRECT,
        ["wechat_redirect"],
    ),
    (
        Wanted(item="儿童书桌", qty=20),
        ("这个型号已经停产了哦", "其他的也没有了，您去别家看看吧"),
        ["availability=discontinued", "availability=out_of_stock"],
        Status.REJECTED,
        ["human_escalation"],
    ),
    (
        Wanted(item="书包", qty=500),
        ("您好，当前客服不在线，请留言，上班后第一时间回复您",),
        [],
        Status.NO_REPLY,
        ["schedule_follow_up"],
    ),
]


@pytest.mark.requirement("A-101")
@pytest.mark.parametrize(
    ("request_", "lines", "captures", "status", "signals"), CONVERSATIONS, ids=[one[0].item for one in CONVERSATIONS]
)
async def test_other_goods_are_negotiated_too(request_, lines, captures, status, signals):
    case = Case(
        id="own-01",
        status=status,
        clock="2026-03-11T10:00:00+08:00",
        request=request_,
        lines=lines,
        captures=(),
        signals=(),
        replies=(),
        summary="",
    )
    rules = Contestant(name="rules", models=rules_models(FakeClock(0)))
    done = await carry_out_case(case, rules, 1, GroundingMode.STRICT, supplier_registry())
    assert [told(call) for call in done.state["botToolTrace"]] == captures
    assert done.state["status"] == status
    assert [signal["signalType"] for signal in done.state["signals"]] == signals
    assert all(call["grounding"]["grounded"] for call in done.state["botCalls"])


def told(call):
    args = call["args"]
    if call["name"] == "log_data":
        return f"{args['goalId']}={args['value']}"
    if call["name"] == "note_blocker":
        return f"{args['goalId']}:{args['blockerType']}"
    return f"{args['assetType']}:{args['urgency']}"
