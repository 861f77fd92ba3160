"""What the paper reports (Li et al., ICLR 2023), in per cent. Keys are (method, stage)."""

from __future__ import annotations

Key = tuple[str, str]

# Table 1: symbol and calculation accuracy. Table 3: the last three.
HWF: dict[Key, tuple[float, float]] = {
    ("rl", "I"): (6.5, 0.0),
    ("mapo", "I"): (8.7, 0.0),
    ("ngs", "I"): (8.1, 0.0),
    ("ssl", "I"): (70.5, 8.4),
    ("na", "I"): (55.1, 2.83),
    ("log", "I"): (81.4, 23.2),
    ("exp", "I"): (82.6, 25.7),
    ("linear", "I"): (79.9, 19.9),
    ("log", "II"): (91.0, 52.2),
    ("exp", "II"): (98.6, 90.7),
    ("linear", "II"): (97.6, 85.0),
    ("ssl", "II"): (17.4, 1.41),
    ("na", "II"): (13.0, 0.41),
    ("exp-ngs", "II"): (99.5, 96.6),
}

# What the paper reports of a method is also what the method gave in its authors' own code.
HWF |= {(f"{method}-code", stage): HWF[method, stage] for method in ("ssl", "na", "exp") for stage in ("I", "II")}

# Table 2: board accuracy for 50, 100, 300 and 500 training boards.
SUDOKU: dict[Key, tuple[float, float, float, float]] = {
    ("rl", "I"): (0.0, 0.0, 0.0, 0.0),
    ("mapo", "I"): (0.0, 0.0, 0.0, 0.0),
    ("ssl", "I"): (5.8, 1.6, 0.0, 0.2),
    ("mcmc", "I"): (24.3, 49.5, 63.4, 69.8),
    ("log", "I"): (30.7, 74.7, 85.9, 86.0),
    ("exp", "I"): (33.6, 76.5, 77.4, 89.3),
    ("linear", "I"): (46.3, 66.8, 79.4, 84.1),
    ("log", "II"): (64.8, 82.2, 93.5, 92.9),
    ("exp", "II"): (66.3, 85.5, 92.3, 95.4),
    ("linear", "II"): (66.9, 81.5, 90.8, 94.0),
}

SUDOKU |= {
    (f"{method}-code", stage): numbers for (method, stage), numbers in SUDOKU.items() if method not in ("rl", "mapo")
}

# Table 2, in brackets: training boards whose prediction is valid.
GROUNDED: dict[Key, tuple[int, int, int, int]] = {
    ("log", "II"): (35, 85, 279, 474),
    ("exp", "II"): (39, 94, 274, 480),
    ("linear", "II"): (41, 85, 273, 478),
}

# Claims in the text: Section 5.1's footnote, Section 5, Section 5.2.
JUMPS = 46.0
Z3_MILLISECONDS = (2.8, 6.4)
GROUNDED_SHARE = 90.0

__all__ = ["GROUNDED", "GROUNDED_SHARE", "HWF", "JUMPS", "SUDOKU", "Z3_MILLISECONDS", "Key"]
