"""Samples, customization, packaging, payment and stock: facts that are words more than numbers.

A refusal is not a fact, and is read elsewhere.
"""

import re
from collections.abc import Iterator

from groundwire.apps.supplier.reading.captures import Find, ReadingContext, found_fact
from groundwire.apps.supplier.reading.durations import AFTER_SAMPLE, find_duration
from groundwire.apps.supplier.reading.folding import Clause, clauses
from groundwire.apps.supplier.reading.numbers import NUMBER, spell
from groundwire.apps.supplier.reading.prices import MONEY, parse_money
from groundwire.apps.supplier.reading.processes import CUSTOM, PROCESSES

MOST_SURCHARGE = 10
"""Printing that costs more is the price of a printed thing."""

_SAMPLE = re.compile(r"打样|打版|拿样|寄样|样品|样费|出样|样板")
_SAMPLE_FEE = re.compile(
    rf"(?:打样费?|拿样|样品费?|样费|寄样|样板费?)(?:[是要收:]|价格?|单价|一个|每个|\s){{0,3}}(?P<fee>{MONEY})(?!\s?(?:天|个|小时|工作日|[-~到]|周))"
)
_FREE = re.compile(r"免费|不收费|不要钱|免打样费")
_REFUND = re.compile(r"(?P<no>不可?)?(?:可退|能退|退还|退回|返还|抵扣|退)")
_FEES = re.compile(
    rf"(?P<kind>版费|制版费|开版费|开模费|模具费|模费)(?:[是要收:]|另外?|大概|一个颜色|每个?颜?色|单色|一色|一个|\s){{0,3}}(?P<fee>{MONEY})(?![个色])"
)
_WAIVED = re.compile(r"免(?P<kind>版费|制版费|开版费|开模费|模具费)")
_SURCHARGE = re.compile(
    rf"(?:加(?P<more>{MONEY})(?!个?点)|(?P<fee>{NUMBER}\s?[块元毛角][0-9]?)(?![0-9])|^[印绣刻压烫][^0-9]{{0,4}}?[一每]个(?P<each>{MONEY}))"
)
_WHOLE_PRICE = re.compile(r"价|带|含|印好|做好|的话|刻好|绣好|包印|送|的(?=\s?¥?[0-9])")
_COSTED = re.compile(r"按.{0,6}[算收]|收费|费用|另[算收]|要?加钱")
_NOT_CHARGED = re.compile(r"免费|不(?:另外?)?(?:收费|收钱|加钱|要钱)")
_DRAWN = re.compile(r"设计|效果图|排版|出图|稿")
_ABLE = re.compile(
    r"可以|可做|能做|能印|能绣|能刻|能定|支持|接受|没问题|都能|都可|我们有|也有|(?<![不能])只能|只做|只有|用的是?"
)
_ONLY = re.compile(r"(?<!不)只能|只做|只有")
_NOT = re.compile(
    r"不可以|不能|不支持|不接|不做|做不了|印不了|绣不了|没法|无法|没有|不了|的话|如果|才能|才可以|要问|问一?下|问问"
)
_CUSTOM_OFFER = re.compile(
    r"(?<!才)(?:可以|可|能|支持|接受?|承接)(?:来图|小批量|少量|各种|个性化)?(?:定制|定做|印\s?(?i:logo)|印字|印|绣|刻|压字|烫)"
)
_OUT = re.compile(r"没有?货|缺货|断货|卖完|售罄|没有现货|没现货|无现货|无货|没有了$|[款货色]没了")
_ENDED = re.compile(r"(?<![没不未])停产|下架|不生产了")
_IN = re.compile(r"(?<![没无])有货|(?:有|是|都有|大量)?现货(?![价的吗]|有吗)|库存(?:充足|很多|有|足)|(?<!没)有库存")
_PACKAGING = re.compile(r"中性包装|彩盒|(?i:opp)\s?袋|吊牌|唛头|气泡袋|牛皮盒|白盒|包装")
_PAYMENT = re.compile(
    r"定金|订金|尾款|全款|账期|月结|走平台|平台付款|款到发货|货到付款|预付|先款|(?:开票|加)\w{0,3}个点|支付宝|微信支付"
)


def read_samples(text: str) -> Iterator[Find]:
    """Fee, days and whether it comes back, of all that is said of samples in neighbouring clauses."""
    values: list[str] = []
    start = end = 0
    for clause in clauses(text):
        own = _read_sample(clause, follows=bool(values) and text[end : clause.start].strip("，。 ") == "")
        if not own:
            continue
        start, end = (start if values else own[0]), own[1]
        values += [value for value in own[2] if value not in values]
    if values:
        yield found_fact("sample", "|".join(values), start, end)


def _read_sample(clause: Clause, *, follows: bool) -> tuple[int, int, list[str]] | None:
    if clause.asks or AFTER_SAMPLE.search(clause.text):  # after the sample is the time of the goods
        return None
    if not _SAMPLE.search(clause.text) and not (follows and _REFUND.search(clause.text)):
        return None
    values = []
    start, end = clause.start, clause.end
    fee = _SAMPLE_FEE.search(clause.text)
    price = parse_money(fee["fee"]) if fee else None
    if price is not None:
        values.append(spell(price))
    elif _FREE.search(clause.text):
        values.append("free")
    if found := find_duration(clause):
        values.append(found[0])
    if refund := _REFUND.search(clause.text):
        values.append("not_refundable" if refund["no"] else "refundable")
    return (start, end, values) if values else None


def read_custom_fees(text: str) -> Iterator[Find]:
    for fee in _FEES.finditer(text):
        price = parse_money(fee["fee"])
        if price is not None:
            kind = "plate_fee" if "版" in fee["kind"] else "mould_fee"
            yield found_fact("customization", f"{kind}={spell(price)}", fee.start(), fee.end())
    for waived in _WAIVED.finditer(text):
        kind = "plate_fee" if "版" in waived["kind"] else "mould_fee"
        yield found_fact("customization", f"{kind}=0", waived.start(), waived.end())
    yield from _read_surcharges(text)


def _read_surcharges(text: str) -> Iterator[Find]:
    """What a process costs on top: 烫金3毛一个. The price of the finished thing is another matter."""
    about: Clause | None = None
    for clause in clauses(text):
        start = about.start if about else clause.start  # 刺绣按针数算，1万针以内6块 is told in two clauses
        is_custom = CUSTOM.search(clause.text) is not None
        about = clause if is_custom and _COSTED.search(clause.text) else None
        if not (is_custom or start < clause.start) or _WHOLE_PRICE.search(clause.text) or _FEES.search(clause.text):
            continue
        match = _SURCHARGE.search(clause.text)
        price = parse_money(match["more"] or match["fee"] or match["each"]) if match else None
        if price is not None and price < MOST_SURCHARGE:
            yield found_fact("customization", f"surcharge={spell(price)}", start, clause.end)
        elif _NOT_CHARGED.search(clause.text) and not (_SAMPLE.search(clause.text) or _DRAWN.search(clause.text)):
            yield found_fact("customization", "surcharge=0", clause.start, clause.end)


def read_customization(text: str, context: ReadingContext) -> Iterator[Find]:
    parts = clauses(text)
    for place, clause in enumerate(parts):
        if clause.asks or _NOT.search(clause.text):
            continue
        before = parts[place - 1] if place else None
        offered = bool(before and _CUSTOM_OFFER.search(before.text) and not _NOT.search(before.text))
        methods = [name for name, words in PROCESSES if words.search(clause.text)]
        bare = "customization" in context.asked and len(clause.text) <= 8
        if methods and (offered or _ABLE.search(clause.text) or bare):
            value = "|".join(methods) + ("_only" if _ONLY.search(clause.text) else "")
            start = before.start if before and offered else clause.start
            yield found_fact("customization", value, start, clause.end)
        elif _CUSTOM_OFFER.search(clause.text) and not _is_continued(parts, place):
            yield found_fact("customization", "available", clause.start, clause.end)


def _is_continued(parts: tuple[Clause, ...], place: int) -> bool:
    """可以定制，数码印花 is one offer: the second clause tells it."""
    following = parts[place + 1] if place + 1 < len(parts) else None
    if following is None or _NOT.search(following.text):
        return False
    return any(words.search(following.text) for _, words in PROCESSES)


def read_availability(text: str) -> Iterator[Find]:
    parts = clauses(text)
    for place, clause in enumerate(parts):
        value = None if clause.asks else _stock_of(clause.text)
        if value is None:
            continue
        # 都 has its subject in the clause before.
        start = parts[place - 1].start if place and clause.text.startswith(("都", "全都", "全部都")) else clause.start
        yield found_fact("availability", value, start, clause.end)
        return


def _stock_of(words: str) -> str | None:
    if _ENDED.search(words):
        return "discontinued"
    if _OUT.search(words):
        return "out_of_stock"
    return "in_stock" if _IN.search(words) else None


def read_packaging(text: str, context: ReadingContext) -> Iterator[Find]:
    yield from _read_words("packaging", _PACKAGING, text, context.item)


def read_payment(text: str) -> Iterator[Find]:
    yield from _read_words("payment", _PAYMENT, text, "")


def _read_words(goal_id: str, words: re.Pattern[str], text: str, item: str) -> Iterator[Find]:
    """The supplier's own words are the value; clauses in a row about one thing are one fact."""
    run: list[Clause] = []
    for clause in clauses(text):
        match = words.search(clause.text)
        if match and match[0] not in item and not clause.asks:
            run.append(clause)
        elif run:
            break
    if run:
        start, end = run[0].start, run[-1].end
        yield found_fact(goal_id, "", start, end)
