"""`groundwire serve` where it starts, and where it cannot: one clear line before any process is made."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

from groundwire.extras import install_command

NO_PROVIDER = "No provider is set up, so the built-in model answers to every name. It understands nothing.\n"
VENDORS = ("OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "OPENROUTER_")


@pytest.fixture(autouse=True)
def no_vendors(monkeypatch):
    for name in [name for name in os.environ if name.startswith(VENDORS)]:
        monkeypatch.delenv(name)


@contextmanager
def served(*arguments):
    """The lines that it says at the start; it is stopped at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "groundwire", "serve", "--port", "0", *arguments],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process.stderr
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_it_says_where_it_serves_how_many_tools_and_who_answers(project):
    with served() as says:
        first, second = says.readline(), says.readline()
    assert first == NO_PROVIDER
    assert second.startswith("Groundwire serves on http://127.0.0.1:")
    assert second.endswith(", with 2 tools\n")
    assert ":0," not in second


def test_with_a_provider_it_does_not_speak_of_the_built_in_model(empty, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with served() as says:
        assert says.readline().startswith("Groundwire serves on http://127.0.0.1:")


@pytest.mark.parametrize(
    ("store", "error"),
    [
        ("mysql://x", "error[config_error]: no store has a URL of that form (mysql)\n"),
        ("sqlite:////no/such/folder/x.db", "error[store_unavailable]: the store x.db cannot be used now: "),
        ("postgresql://127.0.0.1:1/x", "error[store_unavailable]: the PostgreSQL store cannot be reached: "),
    ],
)
def test_a_store_that_cannot_be_used_ends_the_start_with_its_reason(empty, run, store, error):
    done = run("serve", "--port", "0", "--store", store)
    assert done.exit_code == 1
    assert done.stderr.startswith(error)
    assert (done.stderr.count("\n"), done.stderr.count("hint: ")) == (2, 1)


def test_a_port_that_is_taken_is_a_clear_error(empty, run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "--port", port)
    assert (done.exit_code, done.stderr) == (
        1,
        f"error[config_error]: Port {port} of 127.0.0.1 is in use.\nhint: choose another with --port; 0 takes a free one\n",
    )


def test_a_host_that_is_not_of_this_machine_is_not_blamed_on_the_port(empty, run):
    done = run("serve", "--host", "192.0.2.1", "--port", "0")
    assert done.exit_code == 1
    assert done.stderr.startswith("error[config_error]: 192.0.2.1 is no address of this machine.\nhint: --host ")


@pytest.mark.parametrize("port", ["http", "65536", "-1", "٣"])
def test_a_port_in_the_environment_that_is_none_is_an_error(empty, run, monkeypatch, port):
    monkeypatch.setenv("GROUNDWIRE_PORT", port)
    done = run("serve")
    assert done.exit_code == 1
    assert done.stderr == (
        f"error[config_error]: GROUNDWIRE_PORT is {port!r}, and a port is a number from 0 to 65535.\n"
    )


def test_the_port_of_the_command_line_wins_over_that_of_the_environment(empty, run, monkeypatch):
    monkeypatch.setenv("GROUNDWIRE_PORT", "none")
    done = run("serve", "--port", "0", "--store", "mysql://x")
    assert "(mysql)" in done.stderr


def test_several_workers_are_not_given_a_memory_each(empty, run):
    done = run("serve", "--port", "0", "--workers", "2", "--store", "memory://")
    assert done.exit_code == 1
    assert done.stderr.startswith("error[config_error]: 2 workers cannot share a store in memory.\nhint: ")


def test_without_its_extra_it_says_what_to_install(empty, groundwire, hide_packages):
    hide_packages("granian")
    done = groundwire("serve")
    assert done.returncode == 1
    assert done.stderr.startswith("error[config_error]: The gateway needs the extra 'gateway': granian ")
    assert done.stderr.endswith(f"hint: {install_command('gateway')}\n")


def test_without_the_extra_of_mcp_everything_else_is_served_and_a_client_reads_no_path(
    empty, repository, hide_packages
):
    hide_packages("mcp")
    with served() as says:
        says.readline()
        url = says.readline().split()[3].rstrip(",")
        answer = None
        while answer is None:  # it is being started: there is nothing else to wait for
            try:
                urllib.request.urlopen(f"{url}/mcp", b"{}", timeout=10)
            except urllib.error.HTTPError as error:
                answer = (error.code, json.load(error)["error"])
            except urllib.error.URLError:
                continue
    status, told = answer
    assert (status, told["code"]) == (404, "no_such_path")
    assert "'mcp'" in told["hint"]
    assert str(repository) not in json.dumps(told)
