from hypothesis import given
from hypothesis import strategies as st

from groundwire.apps.supplier.reading.folding import clauses, fold


def test_full_width_digits_letters_and_signs_become_ascii():
    assert fold("１００个：￥６．５，ＯＰＰ袋（大）") == "100个:¥6.5，OPP袋(大)"


def test_a_comma_between_thousands_is_no_end_of_a_clause():
    assert fold("1,000个,现货") == "1'000个，现货"


def test_a_comma_between_a_price_and_the_next_quantity_ends_a_clause():
    assert fold("100个22,500个20", counters="个") == "100个22，500个20"


def test_a_comma_before_four_digits_ends_a_clause():
    assert fold("20,1000以上") == "20，1000以上"


def test_clauses_know_their_places():
    text = "亲，在的 。100个起!"
    assert [(part.text, text[part.start : part.end]) for part in clauses(fold(text))] == [
        ("亲", "亲"),
        ("在的", "在的"),
        ("100个起", "100个起"),
    ]


@given(st.text())
def test_folding_keeps_every_place(text):
    folded = fold(text, "个")
    assert len(folded) == len(text)
    assert all(folded[part.start : part.end] == part.text for part in clauses(folded))
