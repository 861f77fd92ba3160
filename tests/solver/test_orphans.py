"""When a process that solves with Z3 ends, however that comes about, its solver processes end too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from softground.solver import crew
from softground.solver.engine import Limits

pytest.importorskip("z3")
if not crew.CAN_FORK:
    pytest.skip("this system cannot fork", allow_module_level=True)

# Two processes, each busy with a query that does not end: one in a formula, one in Z3. Each says who it is.
BUSY = """
import os, signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup makes children ignore it
import torch, z3
from softground.constraints.smt import SMT
from softground.inverses.z3 import Z3
from softground.projections import Dropped
from softground.spaces import Categorical

def formula(symbols, answer):
    os.write(1, f"{os.getpid()}\\n".encode())
    if answer:
        time.sleep(3600)
    a, b, c = z3.Ints("a b c")
    return z3.And(symbols[0] == answer, a**3 + b**3 + c**3 == 114)

smt = SMT(formula, Categorical([range(2)]))
inverse = Z3(smt, workers=2, chunk=1, table=0, rlimit=2**31, timeout=3600.0, limit=7200.0)
inverse.fibre(torch.zeros(2, 1, dtype=torch.long), smt.encode([0, 1]), Dropped(torch.zeros(2, 1, dtype=torch.long)))
"""


def there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_no_solver_process_is_left_behind(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        solving = [int(parent.stdout.readline()) for _ in range(2)]
        assert parent.pid not in solving
        assert len(set(solving)) == 2
        assert all(map(there, solving))
        parent.send_signal(number)
        parent.wait(60)
    for _ in range(600):
        if not any(map(there, solving)):
            return
        time.sleep(0.1)
    for pid in solving:
        os.kill(pid, signal.SIGKILL)
    pytest.fail(f"{solving} are still there")


def test_a_busy_process_looks_for_its_parent_where_the_system_does_not_kill_it() -> None:
    """As on macOS: a process whose parent is another one ends by itself."""
    child = os.fork()
    if child == 0:
        crew._watch(os.getpid())  # not its parent
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_process_whose_pipe_is_closed_already_is_ended() -> None:
    """The garbage collector may close a pipe before it comes to the process that it belongs to."""
    process = crew.SolverProcess(None, Limits(table=0, work=1.0, timeout=1.0))
    os.close(process.connection.fileno())
    process.end()
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
