"""Descriptions of live objects are JSON, the same in every process, and tell apart what trains differently."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from learner_cases import addition, kernel
from softground.learner import one_cycle
from softground.learner.identity import describe
from softground.schedules import Exponential
from softground.training import SoftenedGrounding


@dataclass
class Part:
    weight: float
    hidden: object = field(default_factory=object, repr=False)
    memory: list[int] = field(init=False)


class Plain:
    def __init__(self, size: int, other: object = None) -> None:
        self.size = size
        self.cache = object()


class Silent:
    pass


def scaled(factor: float) -> float:
    return factor


def things() -> list[Any]:
    return [
        None,
        True,
        3,
        float("inf"),
        "text",
        Fraction(7, 2),
        np.float32(0.5),
        np.arange(3),
        torch.zeros(2, 2),
        {"b": 1, 2: [3]},
        {"z", "a"},
        Part(0.5),
        Plain(3),
        Silent(),
        scaled,
        len,
        nn.Sequential(nn.Linear(2, 3), nn.ReLU()),
        torch.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1, momentum=0.9),
        one_cycle(),
        SoftenedGrounding(kernel("metropolis", addition(tabulated=False)), Exponential(1.0)),
    ]


def test_what_they_say() -> None:
    told = [describe(thing) for thing in things()]
    assert told[:7] == [None, True, 3, "inf", "text", "Fraction(7, 2)", 0.5]
    assert set(told[7]) == set(told[8]) == {"shape", "sha256"}
    assert told[9:11] == [{"b": 1, "2": [3]}, ["a", "z"]]
    assert told[11:14] == [{"class": "Part", "weight": 0.5}, {"class": "Plain", "size": 3}, {"class": "Silent"}]
    assert told[14:16] == ["scaled", "len"]
    assert told[16]["parameters"] == 9
    assert told[17] == {"class": "SGD", "lr": 0.1, "momentum": 0.9, "dampening": 0, "weight_decay": 0}
    assert told[18] == {"class": "OneCycle", "warm": 0.2, "end": 0.01}
    assert told[19]["kernel"]["class"] == "Metropolis"


def test_they_are_json_and_the_same_in_another_process() -> None:
    told = json.dumps([describe(thing) for thing in things()])
    assert "0x" not in told
    code = "import json, test_describe as t; print(json.dumps([t.describe(thing) for thing in t.things()]))"
    path = [str(Path(__file__).parent), *sys.path]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(path), "PYTHONHASHSEED": "123"}
    other = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert json.loads(other.stdout) == json.loads(told)
