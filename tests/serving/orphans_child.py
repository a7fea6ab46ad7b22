"""A process that adopts orphans: prints which of those that it knows, and those that came with a death, still run."""

import os
import subprocess
import sys

from groundwire.serving.process_tree import Orphans, adopt_orphans, children_of
from tests.gateway.test_signals import is_there

SLEEP = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"


def leave_orphan():
    before = children_of(os.getpid())
    subprocess.run([sys.executable, "-c", SLEEP], check=True)
    (orphan,) = children_of(os.getpid()) - before
    return orphan


adopt_orphans()
spared = leave_orphan()
now = 0.0
orphans = Orphans(set, lambda: now)
known = leave_orphan()
orphans.check()
now = 1.0
seen = leave_orphan()
orphans.check()
now = 1.9
new = leave_orphan()
orphans.end_new()
while is_there(seen) or is_there(new):
    orphans.check()
print("new", is_there(spared), is_there(known), is_there(seen), is_there(new))
orphans.end_all()
print("all", is_there(spared), is_there(known))
os.kill(spared, 9)
