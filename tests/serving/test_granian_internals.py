"""The private parts of granian that `serving/running.py` uses, as the tested releases have them. After an update that fails
here: read what has changed in its source, run `tests/serving` and `tests/chaos`, then change the range and the values below."""

import importlib.metadata
import inspect
import tomllib

from granian import _signals
from granian._granian import WorkerSignal
from granian.server import common
from granian.server.mp import MPServer


def parameters_of(function):
    return list(inspect.signature(function).parameters)


def test_the_installed_release_is_of_the_tested_range(repository):
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    (allowed,) = (found for found in project["optional-dependencies"]["gateway"] if found.startswith("granian"))
    assert allowed == "granian>=2.8,<2.9"
    assert importlib.metadata.version("granian").split(".")[:2] == ["2", "8"]


def test_a_worker_looks_up_the_function_that_is_replaced_after_its_application_was_made():
    """Replaced in `_signals`, it would have no effect if it were imported earlier or elsewhere."""
    assert parameters_of(_signals.set_loop_signals) == ["loop"]
    source = inspect.getsource(MPServer._spawn_rsgi_worker)
    assert "from granian._signals import set_loop_signals" in source
    assert "set_loop_signals(loop)" in source
    WorkerSignal().set()


def test_the_methods_that_are_extended_have_the_tested_parameters():
    assert parameters_of(MPServer._spawn_worker) == ["self", "idx", "target", "callback_loader"]
    assert parameters_of(MPServer._respawn_workers) == ["self", "workers", "spawn_target", "target_loader", "delay"]
    assert parameters_of(MPServer.signal_handler_reload) == ["self", "args", "kwargs"]
    assert parameters_of(MPServer.shutdown) == ["self", "exit_code"]


def test_the_main_loop_waits_for_what_is_replaced():
    source = inspect.getsource(common.AbstractServer._serve_loop)
    assert "self.main_loop_interrupt.wait()" in source
    for attribute in ("interrupt_signal", "interrupt_children", "reload_signal", "main_loop_interrupt", "wrks"):
        assert f"self.{attribute}" in inspect.getsource(common.AbstractServer)
