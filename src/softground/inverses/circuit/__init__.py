"""Circuits: a propositional rule, compiled once, evaluated level by level on any device."""

from .inverse import Circuit

__all__ = ["Circuit"]
