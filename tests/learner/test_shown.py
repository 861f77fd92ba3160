"""What a notebook or a prompt shows of the library's objects."""

from __future__ import annotations

import copy
from pathlib import Path

import torch

import softground as sg
from learner_cases import addition, examples, make_learner


def test_a_data_set_never_prints_all_its_answers() -> None:
    data = sg.Examples(torch.zeros(1000, 2, 8), [10**9 + n for n in range(1000)], known=[None] * 1000)
    text = repr(data)
    assert text.startswith("Examples(1,000 of shape (2, 8), answers 1000000000, 1000000001, 1000000002, …")
    assert text.endswith("known symbols)")
    assert repr(sg.Examples(torch.zeros(1, 3), [7])) == "Examples(1 of shape (3,), answers 7)"


def test_objects_are_tables_in_a_notebook() -> None:
    task = addition()
    learner = make_learner(task)
    assert "not fitted" in repr(learner)
    learner.fit(examples(task), examples(task, 50, seed=1), quiet=True)
    assert learner.verdict_.sentence in repr(learner)
    page = learner._repr_html_()
    assert "<th>verdict</th>" in page
    assert "After stage I" in page
    assert "<th>answer accuracy</th>" in learner.results_._repr_html_()
    assert copy.deepcopy(learner.results_) == learner.results_
    assert "<th>sites</th>" in task._repr_html_()
    found = sg.inspect(task, [0, 1, 2])
    assert repr(found) == f"Inspection('task': {found.verdict})"
    for shown in (learner.model, found):
        assert "<" in shown._repr_html_()
        assert "object at 0x" not in repr(shown) + shown._repr_html_()


def test_names_are_escaped() -> None:
    space = sg.Categorical([["<b>", "&"]])
    task = sg.Task(space, sg.Program(lambda a: a, space), name="<script>")
    assert "<script>" not in task._repr_html_()
    assert "&lt;b&gt;, &amp;" in task._repr_html_()


def test_the_estimator_has_a_verdict_and_can_leave_a_run_folder(tmp_path: Path) -> None:
    z = torch.randint(4, (80, 2), generator=torch.Generator().manual_seed(0))
    model = sg.SoftGrounder(lambda a, b: 4 * a + b, [range(4)] * 2, epochs=4)
    model.fit(torch.eye(4)[z], (4 * z[:, 0] + z[:, 1]).tolist(), out=tmp_path / "run")
    assert model.verdict_.sentence.endswith("checked on training answers only.")
    assert model.verdict_.sentence in (tmp_path / "run" / "report.html").read_text()
