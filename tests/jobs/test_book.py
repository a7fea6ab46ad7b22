"""What happens to a job whose workers come late, twice, or not at all; without any worker."""

import threading

import pytest

from groundwire.contracts.jobs import JobStatus, RetrySchedule
from groundwire.jobs.book import MAX_INTERRUPTIONS, JobBook
from groundwire.jobs.engine import Engine
from groundwire.jobs.opening import place_of


@pytest.fixture
def book(store_url, clock):
    engine = Engine(place_of(store_url))
    yield JobBook(engine, clock, is_virtual=True)
    engine.close()


def submitted(book, **values):
    given = {
        "kind": "greet",
        "payload": {},
        "tenant": "default",
        "due_at": None,
        "key": "",
        "schedule": RetrySchedule(),
    }
    return book.submit(**given | values)


def test_a_run_that_is_begun_again_is_the_same_attempt(book):
    job = submitted(book)
    assert [book.begin(job.job_id, 1, name).attempt for name in ("ann", "bob")] == [1, 1]


def test_a_worker_that_was_taken_over_cannot_end_the_job(book):
    job = submitted(book)
    book.begin(job.job_id, 1, "ann")
    book.begin(job.job_id, 1, "bob")
    book.finish(job.job_id, 1, "ann", "1")
    book.fail(job.job_id, 1, "ann", "no", retry=False)
    book.give_back(job.job_id, 1, "ann")
    assert book.find(job.job_id, "default").status == JobStatus.RUNNING
    book.finish(job.job_id, 1, "bob", "2")
    assert book.find(job.job_id, "default").result == 2


def test_an_old_run_is_not_begun_any_more(book):
    job = submitted(book)
    book.begin(job.job_id, 1, "ann")
    book.fail(job.job_id, 1, "ann", "no", retry=True)
    assert book.begin(job.job_id, 1, "ann") is None
    assert book.begin(job.job_id, 2, "ann").attempt == 2


@pytest.mark.parametrize("end", ["cancelled", "done", "failed"])
def test_what_has_ended_is_not_begun_any_more(book, end):
    job = submitted(book)
    if end == "cancelled":
        book.cancel(job.job_id, "default")
    else:
        book.begin(job.job_id, 1, "ann")
        if end == "done":
            book.finish(job.job_id, 1, "ann", "null")
        else:
            book.fail(job.job_id, 1, "ann", "no", retry=False)
    assert book.begin(job.job_id, 1, "ann") is None
    assert book.find(job.job_id, "default").status == end


def test_a_job_over_which_too_many_workers_died_is_a_dead_letter(book):
    job = submitted(book)
    for number in range(MAX_INTERRUPTIONS + 1):
        assert book.begin(job.job_id, 1, f"worker {number}") is not None
    assert book.begin(job.job_id, 1, "the last") is None
    dead = book.find(job.job_id, "default")
    assert (dead.status, dead.error) == (JobStatus.FAILED, "11 workers have died while they were working on it")
    assert book.retry(job.job_id, "default").status == JobStatus.WAITING
    assert book.begin(job.job_id, 2, "another").attempt == 1


def test_ended_jobs_are_forgotten_after_a_while_and_open_ones_never(book, clock):
    done, failed, waiting = (submitted(book) for _ in range(3))
    book.begin(done.job_id, 1, "ann")
    book.finish(done.job_id, 1, "ann", "null")
    book.begin(failed.job_id, 1, "ann")
    book.fail(failed.job_id, 1, "ann", "no", retry=False)
    clock.advance(100)
    assert book.forget(100.0) == 0
    clock.advance(1)
    assert book.forget(100.0) == 2
    assert book.list("default", None, None, "", 50) == [waiting]


class CountingEngine(Engine):
    def __init__(self, place):
        super().__init__(place)
        self.enqueued = []

    def enqueue(self, connection, job_id, run, kind, delay):
        self.enqueued.append((job_id, run, delay))
        super().enqueue(connection, job_id, run, kind, delay)


def test_by_a_virtual_clock_a_delayed_run_is_enqueued_once_when_it_is_due_however_often_that_is_looked_for(
    store_url, clock
):
    engine = CountingEngine(place_of(store_url))
    book = JobBook(engine, clock, is_virtual=True)
    first = submitted(book)
    later = submitted(book, due_at=clock.now() + 60)
    assert book.release_due() == later.due_at
    assert engine.enqueued == [(first.job_id, 1, 0.0)]
    clock.advance(60)
    assert [book.release_due() for _ in range(3)] == [None] * 3
    assert engine.enqueued[1:] == [(later.job_id, 1, 0.0)]
    book.begin(later.job_id, 1, "ann")
    book.fail(later.job_id, 1, "ann", "no", retry=True, seconds=30)
    clock.advance(30)
    book.release_due()
    assert engine.enqueued[2:] == [(later.job_id, 2, 0.0)]
    engine.close()


def test_two_processes_with_virtual_clocks_may_both_enqueue_what_is_due(shared_url, clock):
    engines = [Engine(place_of(shared_url)) for _ in range(2)]
    books = [JobBook(engine, clock, is_virtual=True) for engine in engines]
    job = submitted(books[0], due_at=clock.now() + 60)
    clock.advance(60)
    begun, has_begun = [], threading.Event()

    def execute(job_id, run):
        begun.append((job_id, run))
        has_begun.set()

    for book in books:
        book.release_due()
    engines[0].launch("ann", ["greet"], execute, concurrency=8, poll=0.02)
    assert has_begun.wait(30)
    engines[0].stop()
    assert begun == [(job.job_id, 1)]
    for engine in engines:
        engine.close()


def test_by_a_real_clock_a_delayed_run_is_left_to_the_engine(store_url, clock):
    engine = CountingEngine(place_of(store_url))
    later = submitted(JobBook(engine, clock, is_virtual=False), due_at=clock.now() + 60)
    assert engine.enqueued == [(later.job_id, 1, 60.0)]
    engine.close()
