"""Handwritten formulas: recognise symbols from values alone."""
