"""``python -m papers.li2023.worker``: run the cell described on standard input, print its record.

The record, or the error that stopped it, is the only thing printed to standard output; whatever the run prints goes to
standard error.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from contextlib import redirect_stdout
from typing import Any

from softground.errors import DataError, SoftgroundError

from .cell import Cell, Where
from .work import run


def main() -> int:
    """Run one cell; returns an exit code."""
    threading.Thread(target=_follow, args=(os.getppid(),), daemon=True).start()
    given = json.loads(sys.stdin.read())
    cell, where = Cell(**given["cell"]), Where(**given["where"])
    answer: dict[str, Any]
    try:
        with redirect_stdout(sys.stderr):
            answer = {"record": run(cell, where)}
    except SoftgroundError as error:
        # Data that are missing are missing for every cell of the task: the parent stops.
        answer = {"error": f"{type(error).__name__}: {error}", "data": isinstance(error, DataError)}
    print(json.dumps(answer))
    return int("error" in answer)


def _follow(parent: int) -> None:
    """End with the process that started this one, however it ended: nobody would read the record."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
