"""What a package index shows, and what each extra brings."""

import re
import tomllib

import pytest


@pytest.fixture
def project(repository):
    return tomllib.loads((repository / "pyproject.toml").read_text())["project"]


def extras_of(project, extra):
    """The extras that one includes, also through others."""
    named = re.findall(r"groundwire\[([\w,]+)\]", " ".join(project["optional-dependencies"][extra]))
    found = {name for names in named for name in names.split(",")}
    return found.union(*(extras_of(project, name) for name in found))


def test_an_index_can_show_who_made_it_and_where_it_is_documented(project):
    assert project["authors"]
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= project["urls"].keys()
    assert all(url.startswith("https://") for url in project["urls"].values())


def test_the_engine_of_jobs_comes_with_servers_and_with_everything_but_not_with_the_base(project):
    assert not any(dependency.startswith("dbos") for dependency in project["dependencies"])
    assert {extra for extra in project["optional-dependencies"] if "jobs" in extras_of(project, extra)} == {
        "all",
        "gateway",
    }


def test_everything_is_every_extra_but_the_large_and_the_developers_ones(project):
    assert extras_of(project, "all") == project["optional-dependencies"].keys() - {"all", "dev", "local"}


def test_readme_names_every_extra(project, repository):
    named = set(re.findall(r"^\| `(\w+)` \|", (repository / "README.md").read_text(), re.MULTILINE))
    assert project["optional-dependencies"].keys() - {"dev"} <= named
