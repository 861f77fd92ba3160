"""Where these runs differ from the paper's, and why: the part of the page that no measurement writes."""

from __future__ import annotations

from . import hwf, sdsp
from .settings import STAGE_II

COMMON = (
    "**Epochs.** The paper's 1,000 epochs count every walk over the data as one. With T = 10 walks to a gradient step "
    "that is 100 passes that update the network, after 10 of uniform sampling; so Stage I has 110 here, and Stage II "
    f"{STAGE_II}, as in the paper. Methods without a walk had 1,000 passes there and get fewer here (below), which is "
    "what an hour allows.",
    "**Inverse projections** come from a table or a list of S_y (reals: from intervals), not from Z3, which is what "
    "makes this page affordable. A completion is drawn at random among all, as from a solver whose models vary; "
    "`--inverse z3` asks Z3.",
    "**γ.** Exponential cooling is 0.95 a pass and stops at 0.02, as in the authors' code; linear cooling reaches 0.02 "
    "in the last pass; logarithmic cooling is the printed formula counted from t = 1, and at most γ₀.",
    "**Baselines are ours**, written from their papers. The code published with NGS, which the paper used, departs "
    "from them: its MAPO replays the sample just drawn instead of the memory and weighs samples by their probability "
    "twice; its REINFORCE counts a batch's own rewards into the baseline. Each of ours solves easy problems in the "
    "tests.",
    "**Optimisers** are the paper's: RL, MAPO, NGS and SSL by Adam 5e-4; NA and Stage I by SGD 0.1; Stage II by Adam "
    "1e-3. SSL and NA walk as Stage I does, warm-up included. The semantic loss, which the paper did not run, takes "
    "SGD 0.1 on formulas and AdamW 5e-4 on Sudoku: there, without a sampler's noise, SGD never leaves the point where "
    "all digits are equally likely.",
    "**Which network is kept.** Formulas and Sudoku: that of the epoch with the most right training answers, as in the "
    "authors' code, for every method. Shortest paths: the last one.",
)

HWF = (
    "**Data.** HWF is reconstructed from CROHME strokes. In its standard split 72 % of the test slots show an image "
    "that also occurs in training, which flatters every method; the writers' split has test hands never seen in "
    "training. RL, MAPO and NGS are not repeated there.",
    f"**Epochs.** RL and MAPO {hwf.POLICY_EPOCHS}, as in the code published with NGS; NGS 110 (100 there); SUP "
    f"{hwf.SUP_EPOCHS}, as many as both stages.",
    "**Stage I + NGS** takes the exponential schedule, Adam 1e-3 and six steps of back-search.",
)
SUDOKU = (
    "**Accuracy** is the share of boards whose prediction is valid. Without clues the rule does not tell digits apart, "
    "so this is all that can be asked; records also hold the accuracy under the best relabelling.",
    "**Epochs.** As many as 1,000 gradient steps take, and at least 110, for every method of the paper: with 50 boards "
    "110 passes would be 110 steps, after which nothing has been learnt. Exponential cooling reaches its floor in the "
    "last pass. SUP has as many epochs as Stage I.",
    "**MCMC** switches two digits everywhere and is accepted by the paper's ratio.",
)
SDSP = (
    "**Stage II for reals** goes to the nearest feasible points. The paper's Stage II teaches nothing here: a Gaussian "
    "has no gradient at its own mean.",
    "**Warm-up.** There is no uniform law on unbounded reals: the first ten passes take every completion that exists.",
    "**What the paper does not say**: σ (1 here), how graphs are drawn (a spanning tree and up to 70 more edges), and "
    "the margin by which true next hops must lead (2⁻¹⁰).",
    f"**Epochs.** RL and MAPO 110, SUP {sdsp.SUP_EPOCHS}.",
    "**The figure has no numbers** that could be read off; only the statements about it are compared.",
)

__all__ = ["COMMON", "HWF", "SDSP", "SUDOKU"]
