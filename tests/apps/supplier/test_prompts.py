"""Prompts are versioned texts with places to fill; what fills a place is never read as one."""

import pytest

from groundwire.apps.supplier.prompts import Prompt, read_prompt


@pytest.mark.parametrize("name", ["bot", "summary", "judge"])
def test_every_prompt_says_its_version_and_is_in_chinese(name):
    prompt = read_prompt(name)
    assert prompt.version == f"{name}-1"
    assert "供应商" in prompt.text
    assert "version:" not in prompt.text


def test_what_fills_a_place_is_not_filled_again():
    prompt = Prompt(version="t-1", text="{item} 与 {qty} 与 {unknown}")
    assert prompt.fill(item="{qty}", qty="3") == "{qty} 与 3 与 {unknown}"
