"""The page says what the records say, and the committed one is up to date."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest

from paper_cases import formula, made_up, record, stages
from papers.li2023 import checks, judgements, sudoku_page, tables, verdict
from papers.li2023.__main__ import main
from papers.li2023.epochs import evaluated
from papers.li2023.page import page
from papers.li2023.plan import plan
from papers.li2023.render import as_json, read, render
from papers.li2023.store import Store
from papers.li2023.summary import Figure, Results, reading
from softground.errors import CheckpointError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return made_up(tmp_path_factory.mktemp("records"))


@pytest.fixture(scope="module")
def results(store: Store) -> Results:
    return read(store, "all")


def row(lines: list[str], *beginning: str) -> list[str]:
    """The cells of the first row whose first ones are these."""
    split = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return next(cells for cells in split if cells[: len(beginning)] == list(beginning))


def test_the_committed_page_is_the_rendering_of_the_committed_records() -> None:
    committed = (ROOT / "docs" / "reproduction.md").read_text()
    found = read(Store(ROOT / "benchmarks" / "results" / "reproduction"), "all")
    if not found.records:
        pytest.skip("the records are to be made again; see PENDING in tests/benchmarks/test_records.py")
    written = page(found)
    assert committed == written, (
        "docs/reproduction.md is stale: python -m papers.li2023 all --render --out benchmarks/results/reproduction "
        "--page docs/reproduction.md"
    )


def test_without_records_nothing_is_claimed(tmp_path: Path) -> None:
    text = page(read(Store(tmp_path / "none"), "all"))
    assert f"{len(plan('all'))} cells are to be run" in text
    assert text.count("Not measured yet.") >= 7
    assert "| " not in text
    assert "![" not in text


def test_figures_are_means_over_seeds() -> None:
    assert str(Figure.of([1.0, 3.0])) == "2.00 ± 1.41"
    assert str(Figure.of([1.0])) == "1.00"
    assert Figure.of([]) is None
    near = Figure.of([99.865 + 1e-9])
    assert near is not None
    assert f"{near.as_json()['mean']:.2f}" == str(near)  # pages read the one or the other


def test_the_tables_hold_the_papers_numbers_beside_ours(results: Results) -> None:
    one = tables.formulas(results)
    assert row(one, "Ours (Stage I + II)") == ["Ours (Stage I + II)", "Log", "91.0", "–", "52.2", "–", "–", "–", "–"]
    symbol, calculation = "96.50 ± 0.71 [97.50 ± 0.71]", "75.00 ± 0.00 [76.00 ± 0.00]"
    assert row(one, "", "Exp") == ["", "Exp", "82.6", symbol, "25.7", calculation, "–", "–", "2"]
    assert row(one, "Not in the paper")[2:5] == ["–", "99.00 ± 0.00 [100.00 ± 0.00]", "–"]
    two = tables.boards(results)
    assert row(two, "", "Exp")[2:5] == ["33.6", "20.00 ± 0.00 (47)", "76.5"]
    assert [line for line in two if "66.3 (39) | 65.00 ± 7.07 (47)" in line]
    assert row(tables.paths(results, "recursive"), "With labels")[1] == "SUP"


def test_both_readings_are_found_whichever_the_network_was_trained_with() -> None:
    kinds: tuple[Literal["all", "grammatical"], ...] = ("all", "grammatical")
    for test, expected in (
        ({"a": 0.1, "grammatical_a": 0.2}, [10.0, 20.0]),
        ({"a": 0.2, "plain_a": 0.1}, [10.0, 20.0]),
        ({"a": 0.2}, [None, None]),  # of old records nobody knows which
    ):
        assert [reading("I", "a", kind)(stages(I=test)) for kind in kinds] == expected


def test_claims_are_rows(results: Results) -> None:
    lines = checks.claims(results, ("hwf", "sudoku", "sdsp"))
    assert [line for line in lines if "one walk" in line and "| 46 % | 25.00 ± 0.00 % | 2 |" in line]
    assert [line for line in lines if "sdsp: one completion" in line and "| 2.8–6.4 ms | 8.50 ± 0.00 ms | 2 |" in line]
    assert [line for line in lines if "300 boards" in line and line.endswith("| > 90 % | – | – |")]
    assert len(checks.claims(results, ("sdsp",))) == 5  # and whose machine it was


def test_the_proposition_averages_over_problems(results: Results) -> None:
    text = "\n".join(checks.proposition(results))
    assert "|S_y| = 20, 20" in text
    assert "| the paper's, solver's choice at random | 2 | 0.100 | 0.020 | 0.002 | – | – | – |" in text
    assert "at γ = 1 and γ = 0.02: the paper's, solver's choice at random 0.100 and 0.100;" in text
    assert "bound" not in text


def test_what_could_not_be_matched_is_found(results: Results) -> None:
    missed = "\n".join(verdict.unmatched(results))
    assert (
        "HWF, Exp (Stage I + II), symbol accuracy: 98.00 ± 0.00 here, 98.6 in the paper; outside 98.0 … 98.0." in missed
    )
    assert "Sudoku, Exp (Stage I + II), 50 boards: 65.00 ± 7.07 here, 66.3 in the paper; inside 0.0 … 100.0." in missed
    assert "calculation" not in missed  # 95 is more than 90.7, 75 more than 25.7
    beyond = verdict.beyond_labels(results)
    assert "- Sudoku, Exp (Stage I + II), 50 boards: 66.3 in the paper, 64.00 ± 0.00 here with labels." in beyond
    assert len(beyond) == 1  # nothing is known of labels elsewhere, and 33.6 after Stage I is less
    better = "\n".join(verdict.stronger_baselines(results))
    assert "HWF, SSL, symbol accuracy: 90.00 ± 0.00 here, 70.5 in the paper; outside 90.0 … 90.0." in better
    assert "SSL + Stage II" not in better
    (wins,) = verdict.exact_wins(results)
    assert wins.startswith("- HWF, calculation accuracy, the semantic loss: it wins, 97.00 ± 0.00 against 95.00 ± 0.00")
    (shortfall,) = [line for line in verdict.shortfall(results) if "together" in line]
    assert "after Stage I 1 of 1 are lower, and all on average 13.6 points lower" in shortfall


def test_the_prediction_interval_is_students() -> None:
    """t₂ = 4.303 by the tables, and √(1 + 1/3)."""
    assert verdict.prediction(Figure(50.0, 1.0, 3)) == pytest.approx(4.3027 * (4 / 3) ** 0.5, abs=1e-3)


def test_a_lead_that_seeds_cannot_show_is_none() -> None:
    words = ("ahead", "behind", "neither")
    # Welch's degrees of freedom are 4 and 2.94, t is 2.776 and 3.22: the difference must exceed 2.27 and 4.16.
    near, far, wide = Figure(50.0, 1.0, 3), Figure(53.0, 1.0, 3), Figure(54.0, 2.0, 3)
    assert verdict.lead(far, near, *words) == "ahead"
    assert verdict.lead(near, far, *words) == "behind"
    assert verdict.lead(wide, near, *words) == "neither"  # with four degrees of freedom it would be 3.58
    assert verdict.lead(Figure(54.2, 2.0, 3), near, *words) == "ahead"
    assert verdict.lead(Figure(99.0, 0.0, 2), Figure(98.0, 0.0, 2), *words) == "ahead"
    assert verdict.lead(Figure(99.0, 0.0, 3), Figure(10.0, 0.0, 1), *words) == "neither"
    assert verdict.lead(Figure(90.0, 0.0, 1), Figure(10.0, 0.0, 1), *words) == "neither"


def test_methods_are_judged(tmp_path: Path) -> None:
    shares = {"log": 0.92, "exp": 0.93, "ssl": 0.92, "na": 0.91, "ssl-code": 0.02, "na-code": 0.7}
    shares |= {"hard-best": 0.4, "hard-feasible": 0.94}
    store = Store(tmp_path)
    for cell in plan("hwf", 2):
        method = cell.family.removeprefix("hwf/standard/")
        if method in shares:
            figures = formula(0.9, shares[method] + cell.seed / 50)
            store.write(cell, record(cell, stages(I=formula(0.5, shares[method]), II=figures)))
    results = read(store, "hwf")
    one, two = judgements.annealing(results)
    assert "after Stage I: cooling leads. Cooled: Log 92.00 ± 0.00, Exp 93.00 ± 0.00. Held: SSL 92.00" in one
    assert "neither leads, so that with equal treatment annealing buys nothing here after Stage II" in two
    assert judgements.collapse(results)[-1] == "With ten walks 0 of 4 collapse, as in the authors' code 2 of 4."
    assert "52.2 against 90.7 in the paper" in judgements.logarithmic(results)[0]
    one, two, *_ = judgements.hard(results)
    assert "(1), one feasible mapping: 94.00 ± 0.00, the best schedule 93.00 ± 0.00: the hard grounding leads." in one
    assert "(2), the best mapping: 40.00 ± 0.00, the best schedule 93.00 ± 0.00: softening leads." in two
    assert all(line in judgements.lines(results) for line in (one, two))


def test_ours_lead_where_they_lead_every_rival_and_fall_behind_where_any_leads(tmp_path: Path) -> None:
    store = Store(tmp_path)
    shares = {"exp": (0.50, 0.50), "na": (0.30, 0.80), "ssl": (0.60, 0.61), "ssl-code": (0.2, 0.2), "mean": (0.3, 0.3)}
    for cell in plan("sdsp", 2):
        method = cell.family.removeprefix("sdsp/recursive/")
        if method in shares:
            found = {"path_accuracy_all": shares[method][cell.seed]}
            store.write(cell, record(cell, stages(I=found, II=found)))
    text = "\n".join(judgements.paths(read(store, "sdsp")))
    assert "'better than competitors', as they are: ours fall behind. SSL 60.50 ± 0.71, NA 55.00 ± 35.36." in text
    assert "finds 30.00 ± 0.00. Not above it: SSL as in the authors' code." in text


def test_the_projection_is_held_against_the_walk_without_one(tmp_path: Path) -> None:
    store = Store(tmp_path)
    shares = {"sudoku/50/exp": 0.5, "sudoku/50/mcmc": 0.2, "sudoku/500/log": 0.9, "sudoku/500/mcmc": 0.9}
    for cell in plan("sudoku", 2):
        if cell.family in shares:
            share = {"board_accuracy": shares[cell.family] + cell.seed / 50}
            store.write(cell, record(cell, stages(I=share, **({"II": share} if "500" in cell.family else {}))))
    one, two, three = judgements.crude(read(store, "sudoku"))
    assert one == "- 50 boards, after Stage I: 51.00 ± 1.41 against 21.00 ± 1.41: the projection leads."
    assert "500 boards, after Stage I: 91.00 ± 1.41 against 91.00 ± 1.41: neither leads." in two
    assert "500 boards, after both stages, MCMC too" in three


def test_only_the_same_network_is_held_against_labels(tmp_path: Path) -> None:
    store = Store(tmp_path)
    shares = {"sup": 0.7, "exp": 0.8, "best": 0.9, "best-plain": 0.9, "best-sup": 0.95, "best-lenet": 0.85}
    for cell in plan("sudoku", 1):
        method = cell.family.removeprefix("sudoku/50/")
        if method in shares:
            figures = {"board_accuracy": shares[method]}
            store.write(cell, record(cell, stages(I=figures, SUP=figures)))
    (line,) = verdict.above_labels(read(store, "sudoku"))
    assert line.startswith("- 50 boards, SUP 70.00: Exp (Stage I) 80.00, `--preset best --network lenet`")
    assert "convolutional" not in line


def test_rows_of_ours_without_a_record_are_left_out(results: Results) -> None:
    for lines in (tables.formulas(results), tables.boards(results)):
        groups = [line.split("|")[1].strip() for line in lines]
        assert {"Baseline", "Ours (Stage I)"} <= set(groups)  # the paper's rows stand, with dashes
        assert not {"As in the authors' code", "Hard groundings"} & set(groups)


def test_rows_whose_seeds_lie_apart_are_shown_seed_by_seed(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for cell in plan("sudoku", 3):
        if cell.family in ("sudoku/100/log", "sudoku/500/log"):
            spread = 0.3 if "100" in cell.family else 0.01
            store.write(cell, record(cell, stages(I={"board_accuracy": 0.2 + spread * cell.seed})))
    lines = sudoku_page.seed_by_seed(read(store, "sudoku"))
    assert lines == ["- Log (Stage I), 100 boards: 50.00 ± 30.00, of 20.0, 50.0, 80.0."]


def test_last_and_best_epoch_stand_side_by_side(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for cell in plan("sudoku", 2):
        if cell.family == "sudoku/500/exp-code":
            history = [
                {"stage": stage, "epoch": epoch, "test_board_accuracy": share and share + cell.seed / 50}
                for stage, shares in {"I": [0.5, None, 0.9, 0.6], "II": [0.93, 0.97, 0.91]}.items()
                for epoch, share in enumerate(shares)
            ]
            result = stages(I={"board_accuracy": 0.7}, II={"board_accuracy": 0.91 + cell.seed / 50})
            store.write(cell, record(cell, result | {"evaluated": evaluated(history)}))
        if cell.family == "sudoku/300/exp-code":  # a record that holds no epochs
            store.write(cell, record(cell, stages(I={"board_accuracy": 0.5})))
    results = read(store, "sudoku")
    lines = sudoku_page.as_in_the_code(results)
    assert row(lines, "Exp, Stage I", "500")[2:] == [
        "89.3",
        "70.00 ± 0.00",
        "61.00 ± 1.41",
        "91.00 ± 1.41",
        "70.0, 70.0",
    ]
    assert row(lines, "Exp, Stage I + II", "500")[2:6] == ["95.4", *["92.00 ± 1.41"] * 2, "98.00 ± 1.41"]
    assert row(lines, "Exp, Stage I", "300")[2:6] == ["77.4", "50.00 ± 0.00", "–", "–"]
    assert len(lines) == 5
    assert "chosen on test data" in page(results, "sudoku")
    text = "\n".join(verdict.shortfall(results))
    assert "As in the authors' code: after Stage I 2 of 2 are lower, and all on average 23.4 points lower;" in text
    assert "chosen on test data: after Stage I 0 of 1 are lower, and all on average 1.7 points higher" in text
    missed = "\n".join(verdict.unmatched(results))
    assert "Sudoku, Exp, Stage I + II (as in the authors' code), 500 boards: 92.00 ± 1.41 here, 95.4 in" in missed
    assert verdict.beyond_labels(results) == []


def test_one_evaluation_is_no_choice_of_epochs() -> None:
    assert evaluated([{"stage": "I", "epoch": 3, "test_board_accuracy": 0.5}, {"stage": "II", "epoch": 0}]) == {}
    assert evaluated([]) == {}


def test_what_the_paper_says_of_shortest_paths_is_judged_by_the_records(results: Results, tmp_path: Path) -> None:
    text = page(results, "sdsp")
    assert "- 'better than competitors', as they are: ours lead. RL 10.00 ± 0.00." in text
    assert "- 'close to the direct supervision case': our best -10.0 points from SUP, 60.00 ± 0.00." in text
    assert "finds 55.00 ± 0.00. Not above it: Exp, both stages, RL." in text
    assert "competitors with Stage II" not in text  # not on record
    assert "not judged" in "".join(judgements.paths(Results.read([], Store(tmp_path))))


def test_everything_is_written_from_the_records_alone(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "docs" / "page.md"
    assert main(["all", "--render", "--out", str(store.folder), "--page", str(target)]) == 0
    text = target.read_text()
    asked = len([cell for cell in plan("all", 2) if cell.seed < cell.seeds])
    assert f"24 of {asked} cells are on record: 0.2 hours of runs, 2 at a time, on GPU. Data: hwf, mnist." in text
    assert "- **Formulas**, values that are right: 95.00 ± 0.00 (90.7 in the paper); SSL, treated alike 0.00" in text
    for picture in ("curves", "paths", "distances"):
        assert f"(images/reproduction-{picture}.png)" in text
    numbers = json.loads((store.folder / "tables.json").read_text())
    assert numbers == json.loads(json.dumps(as_json(read(store, "all"))))
    found = numbers["hwf/standard/exp/II"]
    assert found["paper"] == [98.6, 90.7]
    assert found["ours"]["calculation_accuracy"] == {"mean": 95.0, "sd": 0.0, "seeds": 2}
    assert found["ours"]["grammatical_calculation_accuracy"] == {"mean": 96.0, "sd": 0.0, "seeds": 2}


def test_plots_are_drawn_where_matplotlib_is_there(store: Store, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    files = render(store, "all", tmp_path / "page.md")
    pictures = [path for path in files if path.suffix == ".png"]
    assert len(pictures) == 3
    assert all(path.stat().st_size > 5000 for path in pictures)


def test_a_page_of_one_task_has_that_task_alone(results: Results) -> None:
    text = page(results, "sdsp")
    assert "The SDSP figure" in text
    assert "Table 1" not in text
    assert "Table 2" not in text


def test_made_up_digits_are_not_compared_with_the_paper(tmp_path: Path) -> None:
    store = Store(tmp_path)
    cell = next(c for c in plan("hwf", 1, real=False) if c.name == "hwf/standard/exp/0")
    store.write(cell, record(cell, stages(I=formula(0.1, 0.0))))
    text = page(read(store, "hwf"), "hwf")
    assert "stand in for the paper's data" in text
    assert "here, 82.6 in the paper" not in text


@pytest.mark.parametrize(
    ("part", "value"), [("jobs", "many"), ("wall_seconds", None), ("environment", []), ("result", {"stages": 1})]
)
def test_a_record_of_the_wrong_shape_is_named(part: str, value: object, tmp_path: Path) -> None:
    store = made_up(tmp_path)
    path = tmp_path / "hwf.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines = [line | {part: value} if line.get("name") == "hwf/standard/exp/1" else line for line in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(
        CheckpointError, match=r"hwf\.jsonl: hwf/standard/exp/1 is not the record of a cell\. Delete the"
    ):
        read(store, "all")


def test_a_long_number_is_no_seed(tmp_path: Path) -> None:
    store = made_up(tmp_path)
    with (tmp_path / "hwf.jsonl").open("a") as lines:
        lines.write('{"name": "hwf/99999999999"}\n')
    assert store.seeds() == 2
