from scripts import docs


def test_reference_pages_say_what_the_code_says():
    assert list(docs.find_stale(docs.GENERATORS, docs.ROOT)) == []


def test_a_page_is_stale_until_it_equals_its_generator(tmp_path):
    generators = [("reference/errors.md", lambda: "# Errors\n")]
    page = tmp_path / "reference" / "errors.md"

    assert docs.find_stale(generators, tmp_path) == {page: "# Errors\n"}

    page.parent.mkdir()
    page.write_text("# Errors\n")
    assert docs.find_stale(generators, tmp_path) == {}
