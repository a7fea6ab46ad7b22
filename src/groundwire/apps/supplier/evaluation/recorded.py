"""The recording as a model: it says in each turn what a model said there once, its mistakes included.

It reads from the request alone whose part it plays and which turn it is, as any model would have to.
"""

from collections.abc import Callable

from groundwire import CallItem, FunctionTool, Message, ModelRequest
from groundwire.apps.supplier.agents import SUMMARY_TOOLS
from groundwire.apps.supplier.evaluation.cases import Case
from groundwire.testing import Answer, Ask


def play_back(case: Case) -> Callable[[ModelRequest], Answer]:
    def answer(request: ModelRequest) -> Answer:
        offered = {tool.name for tool in request.tools if isinstance(tool, FunctionTool)}
        has_called = any(isinstance(item, CallItem) for item in request.items)
        if offered & set(SUMMARY_TOOLS):
            calls = tuple(Ask(row.name, row.args) for row in case.signals)
            return Answer(case.summary) if has_called or not calls else Answer(calls=calls)
        turn = 1 + sum(1 for item in request.items if isinstance(item, Message) and item.role == "assistant")
        calls = tuple(Ask(row.name, row.args) for row in case.captures if row.turn == turn)
        if calls and not has_called:
            return Answer(calls=calls)
        return Answer(_line(case, turn))

    return answer


def _line(case: Case, turn: int) -> str:
    said = (*case.replies, *case.nudges)
    return said[turn - 2] if turn - 2 < len(said) else "好的，谢谢。"
