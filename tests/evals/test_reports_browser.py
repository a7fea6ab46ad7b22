"""The page in a real browser. Where none is installed these are skipped: `make setup` cannot bring one.

The tests wait with locator assertions, which retry. `evaluate` and `wait_for_function` run a string as code in the page:
its Content-Security-Policy forbids that whenever the code is polled, so a test that uses them fails at random.
"""

import shutil

import pytest

from groundwire.evals.comparing import compare
from groundwire.evals.reports.page import write_page
from groundwire.evals.statistics import summarise
from tests.evals.report_samples import HOSTILE, make_failure, make_record, make_records, make_run

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs chromium or google-chrome on the path")
MILLISECONDS = 30_000


@pytest.fixture(scope="module")
def browser():
    expect.set_options(timeout=MILLISECONDS)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def report(tmp_path):
    return tmp_path / "report.html"


@pytest.fixture
def open_page(browser, report):
    """Open a report; whatever its script or its policy complains about, or fetches, fails the test."""
    complaints, opened = [], []

    def open_page(records, *, fragment="", comparison=None, **options):
        report.write_bytes(write_page(make_run(), records, summarise(records), comparison))
        page = browser.new_page(**options)
        opened.append(page)
        page.set_default_timeout(MILLISECONDS)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: request.url.startswith(report.as_uri()) or complaints.append(request.url))
        page.goto(report.as_uri() + fragment)
        return page

    yield open_page
    for page in opened:
        page.close()
    assert complaints == []


def test_the_page_lists_what_did_not_pass(open_page):
    page = open_page(make_records())
    expect(page.locator("h1")).to_have_text("smoke")
    expect(page.locator("#trial-count")).to_have_text("3 of 8")
    expect(page.locator("#trial-rows button")).to_have_text(["happy_path · 1", "happy_path · 2", "chat_only · 1"])


def test_where_all_passed_all_are_listed(open_page):
    page = open_page([make_record(number=n) for n in (1, 2)])
    expect(page.locator("#trial-rows tr")).to_have_count(2)


def test_a_cell_of_the_heat_map_leads_to_its_trials(open_page):
    page = open_page(make_records())
    page.get_by_role("button", name="sim/poor · default · plain, chat_only").click()
    expect(page.locator("#trial-rows button")).to_have_text(["chat_only · 1", "chat_only · 2"])
    expect(page.locator("#trial-rows .status")).to_have_text(["invalid", "passed"])


def test_a_code_leads_to_its_trials(open_page):
    page = open_page(make_records())
    page.get_by_role("button", name="no_call").click()
    expect(page.locator("#trial-rows button")).to_have_text(["happy_path · 2"])
    page.select_option("#filter-code", "wrong_text")
    expect(page.locator("#trial-rows button")).to_have_text(["happy_path · 1"])
    page.click("#filter-clear")
    expect(page.locator("#trial-count")).to_have_text("8 of 8")


def test_a_trial_shows_its_conversation_calls_findings_and_state(open_page):
    page = open_page(make_records())
    page.click("#trial-rows tr >> nth=0")
    expect(page.locator("#trial-body h3")).to_have_text(["Findings", "Conversation", "Calls", "State that was left"])
    for text in ("wrong_text · blame: model", "Set the title.", "state_patch", '"title": "Plan"', "Done.", "run_1"):
        expect(page.locator("#trial-body")).to_contain_text(text)


def test_the_keyboard_is_enough(open_page):
    page = open_page(make_records())
    page.get_by_role("button", name="sim/poor · default · plain, happy_path").focus()
    page.keyboard.press("Enter")
    first = page.locator("#trial-rows button", has_text="happy_path · 1")
    expect(first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#trial-body h3").first).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#trial-title")).to_have_text("happy_path · 2")
    expect(page.locator("#trial-body")).to_contain_text("No tool was called.")
    expect(page.locator("#trial-next")).to_be_disabled()
    page.keyboard.press("Escape")
    expect(page.locator("#trial")).to_be_hidden()
    expect(first).to_be_focused()


def test_an_address_leads_to_a_trial(open_page, report):
    page = open_page(make_records(), fragment="#trial-2")
    expect(page.locator("#trial-title")).to_have_text("happy_path · 2")
    expect(page.locator("#trial-body")).to_contain_text("sim/good")
    page.click("#trial-close")
    expect(page).to_have_url(report.as_uri())


def test_hostile_words_stay_words(open_page):
    said = {"kind": "message", "role": HOSTILE, "parts": [{"kind": "text", "text": HOSTILE}]}
    record = make_failure(
        HOSTILE, HOSTILE, code=HOSTILE, message=HOSTILE, conversation=(said,), state={HOSTILE: HOSTILE}
    )
    page = open_page([record])
    page.click("#trial-rows tr")
    expect(page.locator("#trial-body")).to_contain_text("""<img src=x onerror='document.body.id="injected"'>""")
    expect(page.locator("#injected")).to_have_count(0)
    expect(page.locator("img")).to_have_count(0)


def test_even_an_injected_script_would_not_run(browser, report):
    page = write_page(make_run(), make_records(), summarise(make_records()))
    report.write_bytes(page.replace(b"</body>", b"<script>document.body.id = 'injected'</script></body>"))
    opened = browser.new_page()
    opened.goto(report.as_uri())
    expect(opened.locator("#trial-count")).to_have_text("3 of 8")
    expect(opened.locator("#injected")).to_have_count(0)
    opened.close()


def test_two_thousand_trials_are_listed_a_hundred_at_a_time(open_page, report):
    page = open_page([make_failure(number=n) for n in range(1, 2_001)])
    expect(page.locator("#trial-rows tr")).to_have_count(100)
    expect(page.locator("#trial-more")).to_have_text("Show 100 more of 1900")
    page.click("#trial-more")
    expect(page.locator("#trial-rows tr")).to_have_count(200)
    page.goto(f"{report.as_uri()}#trial-2000")
    expect(page.locator("#trial-title")).to_have_text("happy_path · 2000")
    expect(page.locator("#trial-body h3").first).to_be_visible()


def test_a_trial_that_is_not_in_the_page_says_where_it_is(open_page):
    page = open_page([make_failure(state=list(range(100_000)))])
    page.click("#trial-rows tr")
    expect(page.locator("#trial-body .quiet")).to_have_text(
        'Long texts are cut here: all of it is in trials.jsonl beside this file, in the line with "seed":1001.'
    )


def test_a_comparison_is_shown_with_its_verdict(open_page):
    before = [make_record(number=n) for n in range(1, 41)]
    after = [make_failure("sim/good", number=n) for n in range(1, 41)]
    comparison = compare(before, after, labels=("main", "branch"))
    page = open_page(after, comparison=comparison)
    expect(page.locator("#comparison .lead p").first).to_have_text(comparison.sentence)
    row = page.locator("#comparison tbody tr").first.locator("td")
    for column, text in enumerate(("overall", "40/40", "0/40", "-100")):
        expect(row.nth(column)).to_have_text(text)


def test_results_are_sorted_by_a_click_on_their_head(open_page):
    page = open_page(make_records())
    models = page.locator(".results tbody tr td:first-child")
    expect(models).to_have_text(["sim/good", "sim/poor"])
    page.get_by_role("button", name="rate", exact=True).click()
    page.get_by_role("button", name="rate", exact=True).click()
    expect(models).to_have_text(["sim/poor", "sim/good"])
    expect(page.locator("th[aria-sort]")).to_have_attribute("aria-sort", "ascending")


@pytest.mark.parametrize(("scheme", "ground"), [("light", "rgb(246, 247, 249)"), ("dark", "rgb(14, 18, 23)")])
def test_light_and_dark_have_colours_of_their_own(open_page, scheme, ground):
    page = open_page(make_records(), color_scheme=scheme)
    expect(page.locator("body")).to_have_css("background-color", ground)


def test_on_paper_only_results_are_shown(open_page):
    page = open_page(make_records())
    page.emulate_media(media="print")
    expect(page.locator("#trials")).to_be_hidden()
    expect(page.locator("#success")).to_be_visible()


def test_a_phone_scrolls_tables_and_not_the_page(open_page):
    page = open_page(make_records(), viewport={"width": 390, "height": 844})
    expect(page.locator("html")).to_have_js_property("scrollWidth", 390)
