"""Stores that outlive a process: a SQLite file and a PostgreSQL server."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.postgres_server import new_schema, running_server

CHILD = Path(__file__).with_name("child.py")


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with running_server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/groundwire.db"
    return new_schema(request.getfixturevalue("server"))


@pytest.fixture
def child() -> Callable[..., subprocess.Popen[str]]:
    def start(*arguments: str | Path) -> subprocess.Popen[str]:
        command = [sys.executable, str(CHILD), *map(str, arguments)]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    return start
