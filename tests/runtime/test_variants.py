import pytest

from groundwire.contracts.tools import ToolPolicy, ToolSpec, Variant
from groundwire.runtime.variants import choose_variant


def with_variants(*variants):
    return ToolSpec(tool_id="t", wire_name="t", policy=ToolPolicy(variants=variants))


BETA = Variant(name="beta", users=("ada",), organisations=("acme",))


@pytest.mark.requirement("B-222", "OQ-22")
@pytest.mark.parametrize(
    ("user", "organisation", "chosen"),
    [
        ("ada", "", "beta"),
        ("bob", "", ""),
        ("bob", "acme", "beta"),
        ("", "acme", "beta"),
        ("", "", ""),
    ],
)
def test_named_users_and_organisations_get_their_variant(user, organisation, chosen):
    assert choose_variant(with_variants(BETA), user=user, organisation=organisation, fallback="s") == chosen


@pytest.mark.requirement("B-223", "OQ-23")
@pytest.mark.parametrize("percent", [0, 1, 25, 50, 99, 100])
def test_a_percentage_of_everybody_gets_a_variant_and_always_the_same(percent):
    spec = with_variants(Variant(name="b", percent=percent))
    people = [f"user-{number}" for number in range(4_000)]
    chosen = [choose_variant(spec, user=person, organisation="", fallback="") for person in people]
    assert chosen == [choose_variant(spec, user=person, organisation="", fallback="other") for person in people]
    assert abs(chosen.count("b") / len(people) * 100 - percent) <= 3
    if percent in (0, 100):
        assert set(chosen) == {"b" if percent else ""}


def test_percentages_of_several_variants_share_the_people_out():
    spec = with_variants(Variant(name="a", percent=50), Variant(name="b", percent=50))
    chosen = [choose_variant(spec, user=str(number), organisation="", fallback="") for number in range(2_000)]
    assert set(chosen) == {"a", "b"}


def test_naming_comes_before_percentages():
    spec = with_variants(Variant(name="everybody", percent=100), BETA)
    assert choose_variant(spec, user="ada", organisation="", fallback="") == "beta"
    assert choose_variant(spec, user="bob", organisation="", fallback="") == "everybody"
