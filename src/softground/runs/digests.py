"""Digests of tensors: of a whole one, and of rows, whose digests add up to the whole's."""

import hashlib

import torch
from torch import Tensor
from torch.nn import functional

# Odd numbers as 64 bits with a sign, which wrap around.
COLUMN, ROW = 0x9E3779B97F4A7C15 - 2**64, 0xD1B54A32D192ED03 - 2**64
MIXED = ((30, 0xBF58476D1CE4E5B9 - 2**64), (27, 0x94D049BB133111EB - 2**64))
BYTES = 2**20  # of rows, digested at a time
ROWS = 2**12  # of a tensor, digested at a time: a GPU's need not fit into the memory twice


def tensor_digest(value: Tensor) -> str:
    """SHA-256 of a tensor's dtype, shape and numbers, wherever it is.

    >>> tensor_digest(torch.zeros(2)) == tensor_digest(torch.zeros(2).clone()) != tensor_digest(torch.zeros(2, 1))
    True
    """
    found = hashlib.sha256(f"{value.dtype} {list(value.shape)}".encode())
    rows = value.detach().reshape(len(value) if value.dim() else 1, -1)
    for start in range(0, len(rows), ROWS):
        part = rows[start : start + ROWS].resolve_conj().cpu().contiguous()
        found.update(part.flatten().view(torch.uint8).numpy().data)
    return found.hexdigest()


def rows_digest(value: Tensor, places: Tensor) -> int:
    """A digest of rows and of where each stands in a whole, modulo 2^64: those of the parts add up to the whole's.

    It is the sum over all words of 64 bits of a mixture of the word, its column and its row's place (the finaliser of
    SplitMix64: G. L. Steele, D. Lea and C. H. Flood, OOPSLA 2014). It notices changes, not forgeries.

    >>> rows, places = torch.randn(5, 3), torch.arange(5)
    >>> parts = [rows_digest(rows[k::2], places[k::2]) for k in (0, 1)]
    >>> (rows_digest(rows, places) - sum(parts)) % 2**64, rows_digest(rows.flip(0), places) == rows_digest(rows, places)
    (0, False)
    """
    total, rows = 0, value.detach().reshape(len(value), -1)
    some = max(1, BYTES // max(1, rows.shape[1] * rows.element_size()))
    for start in range(0, len(rows), some):
        data = rows[start : start + some].resolve_conj().clone(memory_format=torch.contiguous_format).view(torch.uint8)
        words = functional.pad(data, (0, -data.shape[1] % 8)).view(torch.int64)
        column = torch.arange(1, words.shape[1] + 1, device=words.device)
        words = words + column * COLUMN + places[start : start + some, None] * ROW
        for shift, factor in MIXED:
            words ^= words >> shift
            words *= factor
        total += int((words ^ (words >> 31)).sum())
    return total
