"""The page in a real browser. Where none is installed these are skipped: `make setup` cannot bring one."""

import shutil

import pytest

from groundwire.evals.comparing import compare
from groundwire.evals.reports.page import write_page
from groundwire.evals.statistics import summarise
from tests.evals.report_samples import HOSTILE, make_failure, make_record, make_records, make_run

sync_api = pytest.importorskip("playwright.sync_api")

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs chromium or google-chrome on the path")
MILLISECONDS = 30_000


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, tmp_path):
    """Open a report; whatever its script or its policy complains about, or fetches, fails the test."""
    complaints, opened = [], []

    def open_page(records, *, fragment="", comparison=None, **options):
        file = tmp_path / "report.html"
        file.write_bytes(write_page(make_run(), records, summarise(records), comparison))
        page = browser.new_page(**options)
        opened.append(page)
        page.set_default_timeout(MILLISECONDS)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: request.url.startswith(file.as_uri()) or complaints.append(request.url))
        page.goto(file.as_uri() + fragment)
        return page

    yield open_page
    for page in opened:
        page.close()
    assert complaints == []


def test_the_page_lists_what_did_not_pass(open_page):
    page = open_page(make_records())
    assert page.locator("h1").text_content() == "smoke"
    assert page.locator("#trial-count").text_content() == "3 of 8"
    assert page.locator("#trial-rows button").all_text_contents() == [
        "happy_path · 1",
        "happy_path · 2",
        "chat_only · 1",
    ]


def test_where_all_passed_all_are_listed(open_page):
    assert open_page([make_record(number=n) for n in (1, 2)]).locator("#trial-rows tr").count() == 2


def test_a_cell_of_the_heat_map_leads_to_its_trials(open_page):
    page = open_page(make_records())
    page.get_by_role("button", name="sim/poor · default · plain, chat_only").click()
    assert page.locator("#trial-rows button").all_text_contents() == ["chat_only · 1", "chat_only · 2"]
    assert page.locator("#trial-rows .status").all_text_contents() == ["invalid", "passed"]


def test_a_code_leads_to_its_trials(open_page):
    page = open_page(make_records())
    page.get_by_role("button", name="no_call").click()
    assert page.locator("#trial-rows button").all_text_contents() == ["happy_path · 2"]
    page.select_option("#filter-code", "wrong_text")
    assert page.locator("#trial-rows button").all_text_contents() == ["happy_path · 1"]
    page.click("#filter-clear")
    assert page.locator("#trial-count").text_content() == "8 of 8"


def test_a_trial_shows_its_conversation_calls_findings_and_state(open_page):
    page = open_page(make_records())
    page.click("#trial-rows tr >> nth=0")
    page.wait_for_selector("#trial-body h3")
    assert page.locator("#trial-body h3").all_text_contents() == [
        "Findings",
        "Conversation",
        "Calls",
        "State that was left",
    ]
    shown = page.locator("#trial-body").inner_text()
    for text in ("wrong_text · blame: model", "Set the title.", "state_patch", '"title": "Plan"', "Done.", "run_1"):
        assert text in shown


def test_the_keyboard_is_enough(open_page):
    page = open_page(make_records())
    page.get_by_role("button", name="sim/poor · default · plain, happy_path").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "happy_path · 1"
    page.keyboard.press("Enter")
    page.wait_for_selector("#trial-body h3")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.getElementById('trial-title').textContent === 'happy_path · 2'")
    page.wait_for_function("document.getElementById('trial-body').textContent.includes('No tool was called.')")
    assert page.locator("#trial-next").is_disabled()
    page.keyboard.press("Escape")
    assert page.locator("#trial").is_hidden()
    assert page.evaluate("document.activeElement.textContent") == "happy_path · 1"


def test_an_address_leads_to_a_trial(open_page):
    page = open_page(make_records(), fragment="#trial-2")
    page.wait_for_selector("#trial-body h3")
    assert page.locator("#trial-title").text_content() == "happy_path · 2"
    assert "sim/good" in page.locator("#trial-body").inner_text()
    page.click("#trial-close")
    page.wait_for_function("location.hash === ''")


def test_hostile_words_stay_words(open_page):
    said = {"kind": "message", "role": HOSTILE, "parts": [{"kind": "text", "text": HOSTILE}]}
    record = make_failure(
        HOSTILE, HOSTILE, code=HOSTILE, message=HOSTILE, conversation=(said,), state={HOSTILE: HOSTILE}
    )
    page = open_page([record])
    page.click("#trial-rows tr")
    page.wait_for_selector("#trial-body h3")
    assert page.evaluate("window.pwned") is None
    assert page.locator("img").count() == 0
    assert "<img src=x onerror='window.pwned=1'>" in page.locator("#trial-body").inner_text()


def test_even_an_injected_script_would_not_run(open_page, browser, tmp_path):
    file = tmp_path / "injected.html"
    page = write_page(make_run(), make_records(), summarise(make_records()))
    file.write_bytes(page.replace(b"</body>", b"<script>window.pwned=1</script></body>"))
    opened = browser.new_page()
    opened.goto(file.as_uri())
    assert opened.evaluate("window.pwned") is None
    assert opened.locator("#trial-count").text_content() == "3 of 8"
    opened.close()


def test_two_thousand_trials_are_listed_a_hundred_at_a_time(open_page):
    page = open_page([make_failure(number=n) for n in range(1, 2_001)])
    assert page.locator("#trial-rows tr").count() == 100
    assert page.locator("#trial-more").text_content() == "Show 100 more of 1900"
    page.click("#trial-more")
    assert page.locator("#trial-rows tr").count() == 200
    page.evaluate("location.hash = '#trial-2000'")
    page.wait_for_function("document.getElementById('trial-title').textContent === 'happy_path · 2000'")
    page.wait_for_selector("#trial-body h3")


def test_a_trial_that_is_not_in_the_page_says_where_it_is(open_page):
    page = open_page([make_failure(state=list(range(100_000)))])
    page.click("#trial-rows tr")
    page.wait_for_selector("#trial-body .quiet")
    assert page.locator("#trial-body .quiet").text_content() == (
        'Long texts are cut here: all of it is in trials.jsonl beside this file, in the line with "seed":1001.'
    )


def test_a_comparison_is_shown_with_its_verdict(open_page):
    before = [make_record(number=n) for n in range(1, 41)]
    after = [make_failure("sim/good", number=n) for n in range(1, 41)]
    comparison = compare(before, after, labels=("main", "branch"))
    page = open_page(after, comparison=comparison)
    assert page.locator("#comparison .lead p").first.text_content() == comparison.sentence
    assert page.locator("#comparison tbody tr").first.locator("td").all_text_contents()[:4] == [
        "overall",
        "40/40",
        "0/40",
        "-100",
    ]


def test_results_are_sorted_by_a_click_on_their_head(open_page):
    page = open_page(make_records())
    models = page.locator(".results tbody tr td:first-child")
    assert models.all_text_contents() == ["sim/good", "sim/poor"]
    page.get_by_role("button", name="rate", exact=True).click()
    page.get_by_role("button", name="rate", exact=True).click()
    assert models.all_text_contents() == ["sim/poor", "sim/good"]
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"


def test_light_dark_and_paper_have_colours_of_their_own(open_page):
    background = "getComputedStyle(document.body).backgroundColor"
    light = open_page(make_records(), color_scheme="light")
    dark = open_page(make_records(), color_scheme="dark")
    assert light.evaluate(background) != dark.evaluate(background)
    light.emulate_media(media="print")
    assert light.locator("#trials").is_hidden()
    assert light.locator("#success").is_visible()


def test_a_phone_scrolls_tables_and_not_the_page(open_page):
    page = open_page(make_records(), viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
