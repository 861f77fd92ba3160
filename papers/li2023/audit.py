"""What an audit of this reproduction measured, in words: shortened runs on a CPU, of which no records were kept."""

from __future__ import annotations

SOURCE = "an audit's own runs, of which no records are kept here"

PORT = (
    "A line-by-line port of the authors' Sudoku (500 boards of their generator, 32×32 pixels, their optimisers, "
    "batches, temperatures and epochs, Z3 replaced by a look-up) gave 72.9 and 75.0 after Stage I and 89.9 and 91.9 "
    f"after both (two seeds; {SOURCE}); the best of every tenth epoch of Stage II, chosen on test data, was 92.4 and "
    "93.0. The paper has 89.3 and 95.4. As published, the code takes 109 gradient steps with 50 boards, and learnt "
    "nothing in them (7.3 after Stage I, 0.0 after both)."
)
MCMC = (
    "A port of MCMC with 50 boards in small batches gave 0, 0 and 25.5 on the authors' boards and 39.5, 0.3 and 0.3 on "
    f"uniform ones ({SOURCE}): a run either finds the digits or does not, and the paper's 24.3 is of the first kind."
)

__all__ = ["MCMC", "PORT"]
