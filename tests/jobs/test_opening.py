import asyncio
import subprocess
import sys

import pytest

from groundwire.contracts.errors import ConfigError, StoreUnavailable
from groundwire.jobs import open_jobs
from groundwire.jobs.opening import place_of
from groundwire.jobs.places import Place


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("memory://", Place()),
        ("sqlite:///groundwire.db", Place(file="groundwire.jobs.db")),
        ("sqlite:////data/a%20b.sqlite?durability=power", Place(file="/data/a b.jobs.sqlite", survives_power=True)),
        ("sqlite:///noending", Place(file="noending.jobs")),
        (
            "postgres://ann:pw@db:5433/shop",
            Place(dsn="postgresql://ann:pw@db:5433/shop", schema="groundwire_jobs", survives_power=True),
        ),
        (
            "postgresql://db/shop?search_path=other&sslmode=require&work_mem=8MB&durability=process",
            Place(dsn="postgresql://db/shop?sslmode=require&options=-c%20work_mem%3D8MB", schema="other_jobs"),
        ),
    ],
)
def test_jobs_are_kept_beside_their_store(url, place):
    assert place_of(url) == place


@pytest.mark.parametrize(
    "url",
    [
        "mysql://x",
        "groundwire.db",
        "postgresql://[",
        "",
        "sqlite://",
        "sqlite:///",
        "sqlite:///.",
        "sqlite:///a/..",
        "sqlite:///%00",
        "sqlite://host/a.db",
    ],
)
def test_other_urls_are_refused(url):
    with pytest.raises(ConfigError):
        open_jobs(url)


def test_the_engine_is_not_imported_before_jobs_are_used():
    program = (
        "import sys; from groundwire.jobs import open_jobs; open_jobs('sqlite:///x.db'); "
        "print([name for name in ('dbos', 'sqlalchemy', 'psycopg') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


async def test_jobs_in_memory_leave_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    jobs = open_jobs("memory://")
    await jobs.submit("greet", {})
    assert len(list(tmp_path.iterdir())) == 1
    await jobs.close()
    assert list(tmp_path.iterdir()) == []


async def test_many_may_open_what_nobody_has_opened_before(shared_url):
    opened = [open_jobs(shared_url) for _ in range(8)]
    submitted = await asyncio.gather(*(jobs.submit("greet", {}, key="k") for jobs in opened))
    assert len({job.job_id for job in submitted}) == 1
    for jobs in opened:
        await jobs.close()


@pytest.mark.parametrize("url", ["postgresql://nobody@127.0.0.1:1/nowhere", "sqlite:////nowhere/at/all.db"])
async def test_a_database_that_cannot_be_reached_is_an_error_of_ours(url):
    jobs = open_jobs(url)
    with pytest.raises(StoreUnavailable):
        await jobs.submit("greet", {})
    await jobs.close()
