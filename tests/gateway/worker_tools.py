"""Tools for tests of worker processes: one that kills its worker, and some that start processes of their own."""

import json

from groundwire.registry.build import build
from groundwire.registry.sample import write_sample

DIE = """
import os


def execute():
    os._exit(3)
"""
START = {
    "subprocess": """
import subprocess
import sys


def execute():
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    return {"pid": sleeper.pid}
""",
    "session": """
import subprocess
import sys


def execute():
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    return {"pid": sleeper.pid}
""",
    "fork": """
import os
import time


def execute():
    pid = os.fork()
    if not pid:
        time.sleep(600)
        os._exit(0)
    return {"pid": pid}
""",
    "multiprocessing": """
import multiprocessing
import time


def execute():
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))
    child.start()
    return {"pid": child.pid}
""",
    "daemon": """
import os
import time


def execute():
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.setsid()
        daemon = os.fork()
        if not daemon:
            time.sleep(600)
        os.write(writing, b"%d" % daemon)
        os._exit(0)
    os.waitpid(child, 0)
    return {"pid": int(os.read(reading, 20))}
""",
}


def write_tool(project, name, code, **members):
    """Add a tool without arguments to the sample project, and build its registry again."""
    folder = project / "tools" / name
    folder.mkdir()
    schema = {
        "toolId": name,
        "category": "retrieval",
        "modes": ["text"],
        "exposure": "model",
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
        **members,
    }
    (folder / "schema.json").write_text(json.dumps(schema))
    (folder / "guide.md").write_text(f"Use {name} when a test asks for it.\n")
    (folder / "handler.py").write_text(code)
    build(project / "tools", project)


def write_project(folder, **tools):
    write_sample(folder)
    build(folder / "tools", folder)
    for name, code in tools.items():
        write_tool(folder, name, code)
    return folder
