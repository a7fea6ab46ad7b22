"""One side of a conversation in a terminal: what is said is passed on, what happens is shown, questions are put.

It drives an agent from ordinary code. Each piece of work is a run of the event loop of its own, so that Ctrl-C cancels
that work, and between two of them interrupts the person's typing as usual.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import IO, Any, Self

import click

from groundwire.agent import Agent, Prompt
from groundwire.cli.options import os_user, read_arguments
from groundwire.cli.output import clean, note, one_line, print_json, print_text
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import NotFound
from groundwire.contracts.events import (
    ApprovalRequested,
    CallFinished,
    CallProgress,
    CallStarted,
    Event,
    RunEnded,
    RunStarted,
    TextDelta,
)
from groundwire.contracts.ports import Provider
from groundwire.contracts.runs import Outcome

EXIT_CODES = {Outcome.COMPLETED: 0, Outcome.AWAITING_APPROVAL: 3, Outcome.CANCELLED: 130}
"""Every other outcome is a failure, 1."""


class Talk:
    """`out` gets the answers, stderr everything else. `can_ask`: somebody is there to answer questions."""

    def __init__(
        self,
        agent: Agent,
        models: Provider,
        loop: asyncio.Runner,
        *,
        tenant: str,
        is_live: bool,
        as_json: bool,
        can_ask: bool,
    ) -> None:
        self.out: IO[Any] = sys.stdout
        self._agent = agent
        self._models = models
        self._tenant = tenant
        self._is_live = is_live
        self._as_json = as_json
        self._can_ask = can_ask
        self._loop = loop
        self._run_id = ""
        self._line = ""
        """What of the model's words stands on the line that is not ended yet."""
        self._said = ""
        """The words of the present step."""
        self._step = 0
        self._questions: list[ApprovalRequested] = []
        self._asked: dict[str, str] = {}
        """The argument text of each call, for whoever wants to change it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._loop.run(self._agent.close())
        self._loop.run(self._models.close())

    def say(self, prompt: Prompt) -> Outcome:
        """A message, and everything that follows from it."""
        return self._decide(self._follow(self._agent.stream(prompt) if self._is_live else self._whole(prompt)))

    def resume(self, run_id: str) -> Outcome:
        return self._decide(self._go_on(run_id))

    async def _whole(self, prompt: Prompt) -> AsyncIterator[Event]:
        for event in (await self._agent.run(prompt)).events:
            yield event

    async def _whole_rest(self, run_id: str) -> AsyncIterator[Event]:
        for event in (await self._agent.resume(run_id, tenant=self._tenant)).events:
            yield event

    def _go_on(self, run_id: str) -> Outcome:
        if self._is_live:
            return self._follow(self._agent.resume_stream(run_id, tenant=self._tenant))
        return self._follow(self._whole_rest(run_id))

    def _follow(self, events: AsyncIterator[Event]) -> Outcome:
        """Show a run until it ends, pauses, or is cancelled from the keyboard."""
        self._run_id, self._said, self._step, self._questions = "", "", 0, []
        try:
            return self._loop.run(self._show_all(events))
        except KeyboardInterrupt:
            self._end_line()
            if self._as_json:
                print_json(RunEnded(run_id=self._run_id, outcome=Outcome.CANCELLED.value), file=self.out)
            again = f" To take it up again: groundwire chat --resume {self._run_id}{self._whose}"
            note(f"Cancelled.{again if self._run_id else ''}")
            return Outcome.CANCELLED

    async def _show_all(self, events: AsyncIterator[Event]) -> Outcome:
        outcome = Outcome.CANCELLED
        async for event in events:
            if self._as_json:
                print_json(event, file=self.out)
            if isinstance(event, RunStarted):
                self._run_id = event.run_id
            elif isinstance(event, ApprovalRequested):
                self._questions.append(event)
            elif isinstance(event, RunEnded):
                outcome = Outcome(event.outcome)
                self._show_end(event, outcome)
            if not self._as_json:
                self._show(event)
        return outcome

    def _show(self, event: Event) -> None:
        match event:
            case TextDelta():
                self._show_words(event)
            case CallStarted():
                self._asked[event.call.call_id] = event.call.raw
                self._remark(f"→ {event.call.name} {one_line(event.call.raw)}")
            case CallProgress():
                self._remark(f"· {event.name} {one_line(event.value)}")
            case CallFinished():
                self._remark(f"← {_result_line(event)}")
            case _:
                pass

    def _show_words(self, event: TextDelta) -> None:
        if event.step != self._step:
            self._end_line()
            self._said, self._step = "", event.step
        self._said += event.text
        text = clean(event.text)
        self._line = text.rpartition("\n")[2] if "\n" in text else self._line + text
        click.echo(text, file=self.out, nl=False)

    def _show_end(self, event: RunEnded, outcome: Outcome) -> None:
        if self._as_json:
            return
        self._end_line()
        if outcome is Outcome.COMPLETED:
            if event.text != self._said:
                print_text(clean(event.text), file=self.out)
            return
        if outcome is Outcome.AWAITING_APPROVAL:
            return
        note(f"{outcome.value}: {event.text}" if event.text != self._said else outcome.value)
        if event.failure is not None:
            note(f"{event.failure.kind.value}: {event.failure.message}")

    def _remark(self, text: str) -> None:
        self._end_line()
        click.echo(click.style(clean(text), dim=True), err=True)

    def _end_line(self) -> None:
        if self._line:
            click.echo("", file=self.out)
            self._line = ""

    def _decide(self, outcome: Outcome) -> Outcome:
        """While the run waits for a person who is here, ask them and go on."""
        while outcome is Outcome.AWAITING_APPROVAL:
            waiting, run_id = self._questions, self._run_id
            if not (self._can_ask and all(self._answer(question) for question in waiting)):
                for question in waiting:
                    note(f"{question.question} Until {question.expires_at}:")
                    note(f"  groundwire approvals approve {question.confirmation_id}{self._whose}")
                note(f"Then: groundwire chat --resume {run_id}{self._whose}")
                return outcome
            outcome = self._go_on(run_id)
        return outcome

    @property
    def _whose(self) -> str:
        return "" if self._tenant == "default" else f" --tenant {self._tenant}"

    def _answer(self, question: ApprovalRequested) -> bool:
        """Ask until there is an answer; False if the person would rather not say now."""
        runtime, by = self._agent.runtime, os_user()
        arguments: JsonObject | None = None
        note(question.question)
        while True:
            try:
                answer = read_line("yes, no or edit? ").strip().lower()
                if answer in ("e", "edit"):
                    arguments = read_arguments(read_line("arguments: ", self._asked.get(question.call_id, "")))
                    answer = "yes"
            except click.BadParameter as error:
                note(error.message)
                continue
            except (EOFError, KeyboardInterrupt):
                note("")
                return False
            try:
                if answer in ("y", "yes"):
                    self._loop.run(
                        runtime.approve(question.confirmation_id, by=by, arguments=arguments, tenant=self._tenant)
                    )
                    return True
                if answer in ("n", "no"):
                    self._loop.run(runtime.deny(question.confirmation_id, by=by, tenant=self._tenant))
                    return True
            except NotFound as error:  # it ran out, or somebody else was faster; the run will be told
                note(error.message)
                return True


def read_line(question: str, text: str = "") -> str:
    """A line that the person types, with line editing and `text` to begin with where the system has that."""
    try:
        import readline
    except ImportError:
        return input(question)
    readline.set_startup_hook(lambda: readline.insert_text(text))
    try:
        return input(question)
    finally:
        readline.set_startup_hook()


def _result_line(event: CallFinished) -> str:
    result = event.result
    if result.error is not None:
        return f"{result.error.type.value} {event.name} {one_line(result.error.message)}"
    replayed = " (replayed)" if result.meta.replayed else ""
    return f"ok {event.name}{replayed} {one_line(result.data)}"
