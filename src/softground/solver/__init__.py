"""Solvers: queries, the engines that answer them (Z3, CP-SAT), and the processes these run in."""

from . import cpsat, z3  # which register the rules that they solve

__all__ = ["cpsat", "z3"]
