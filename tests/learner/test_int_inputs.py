"""Whole numbers for a network of floats, and batches that come late: messages are about what the user gave."""

import pytest
import torch

import softground as sg
from softground.errors import LearnerError


def test_whole_numbers_for_a_network_of_floats_name_the_remedy() -> None:
    space = sg.Categorical([range(3)] * 2)
    task = sg.Task(space, sg.Program(lambda a, b: a + b, space))
    learner = sg.Learner(task, torch.nn.Linear(4, 3), sg.grounding_stages(task, epochs=1))
    with pytest.raises(LearnerError, match=r"x\.float\(\)"):
        learner.fit(sg.Examples(torch.ones(60, 2, 4, dtype=torch.long), [2] * 60), quiet=True)
