"""Faults on purpose: what softground survives, counted.

``make torture`` (``PYTHONPATH=tests python -m torture``) runs every trial in :mod:`torture.trials` and writes
``benchmarks/results/torture.json`` and the table of ``docs/torture.md``; the tests run all of them on fewer cases. A
new trial is one new file in ``tests/torture/trials`` and one test.
"""
