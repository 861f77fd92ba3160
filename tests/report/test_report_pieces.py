"""The parts of a page: charts, matrices, galleries and tables say what they were given."""

from __future__ import annotations

import re
from typing import Any

import pytest

from report_cases import Page, drawn, facts, findings, history, loads, watched
from softground.experiments.named import named_recipe
from softground.report.findings import Findings, Input, Matrix, Shown
from softground.report.html import compare_page, run_page
from softground.report.html.charts import (
    WIDTH,
    ChartLine,
    Epochs,
    Records,
    Scale,
    curves,
    powers,
    round_steps,
    shares,
    timing,
)
from softground.report.html.diagrams import confusion
from softground.report.html.gallery import moments, thinned
from softground.report.html.run import _recipe


def charts(history: Records) -> list[str]:
    return [drawn("charts", "line_chart", chart) for chart in curves(history)]


def followed(found: Findings, records: Any) -> str:
    return "".join(drawn("gallery", "followed", example, records) for example in found.watched)


def looked_at(shown: list[Shown]) -> str:
    return "".join(drawn("gallery", "looked_at", example) for example in shown)


def test_a_page_has_every_part_and_the_figures_of_the_summary() -> None:
    html = run_page(facts())
    page = Page(html)
    assert loads(html) == []
    anchors = [a["id"] for a in page.all("section")]
    assert anchors == ["held-out", "watched", "symbols", "figures", "curves", "confidence", "time", "config"]
    assert [a["href"] for a in page.all("a")] == [f"#{anchor}" for anchor in anchors]
    for figure in ("87.50%", "12.50%", "75.00%", "93.75%", "56,789", "1 min 15 s", "Digits, made up."):
        assert figure in page.text
    assert {"charset": "utf-8"} in page.all("meta")
    assert any(a.get("name") == "viewport" for a in page.all("meta"))


@pytest.mark.parametrize("missing", ["summary", "findings", "watched", "history"])
def test_a_run_that_lacks_something_still_gets_a_page(missing: str) -> None:
    nothing: dict[str, Any] = {"summary": {}, "findings": None, "watched": [], "history": []}
    page = Page(run_page(facts(**{missing: nothing[missing]})))
    anchors = [a["id"] for a in page.all("section")]
    gone = {"findings": {"symbols", "held-out", "watched"}, "history": {"curves", "time"}}.get(missing, set())
    gone |= {"confidence"} if missing == "summary" else set()
    whole = {"figures", "curves", "symbols", "confidence", "held-out", "watched", "time", "config"}
    assert set(anchors) == whole - gone
    assert ("no summary" in page.text) == (missing == "summary")
    Page(compare_page([facts(**{missing: nothing[missing]}), facts()]))


def test_a_page_begins_with_the_verdict_and_has_at_most_four_tiles() -> None:
    known = facts()
    verdict = {"kind": "collapsed", "sentence": "Collapsed: 1 is <never> read.", "checked_on": "held-out answers"}
    headline = [{"name": f"figure {k}", "value": 0.875, "chance": 0.1} for k in range(3)]
    headline.append({"name": "symbols in use", "value": 9, "of": 10})
    html = run_page(facts(summary={**known.summary, "verdict": verdict, "headline": headline}))
    page = Page(html)
    assert (
        page.text.index("Collapsed: 1 is <never> read.")
        < page.text.index("figure 0")
        < page.text.index("Point at an epoch")
    )
    assert html.count('class="tile"') == 4
    assert "figure 2" in page.text
    for broken in ({"verdict": "?"}, {"verdict": {"kind": 3}}, {"headline": [3, {"value": "x"}]}):
        Page(run_page(facts(summary={**known.summary, **broken})))


def test_settings_other_than_the_presets_are_marked() -> None:
    recipe = named_recipe("addition", epochs=3)[0].to_json()
    rows = {name: (value, preset) for name, value, preset in _recipe(recipe)}
    assert rows["epochs"][0] == "3"
    assert {name for name, (_, preset) in rows.items() if preset} == {"epochs"}
    assert _recipe({"task": "own", "preset": "none", "epochs": 3})[2] == ("epochs", "3", "")


def test_curves_have_a_card_for_each_group_and_mark_the_stages() -> None:
    text = [Page(card).text for card in charts(history((("I", 7), ("II", 2)), test_spearman=0.5, ess=12.0))]
    headings = ["Held-out data", "Training data", "Temperature γ", "Loss", "Chains", "Spearman", "Ess"]
    assert [
        heading for heading, card in zip(headings, text, strict=True) if card.strip().startswith(heading)
    ] == headings
    assert "symbol 100%" in text[0]
    assert "Stage I " in text[0]
    assert "Stage II" in text[0]
    assert "γ = ∞" in text[2]
    assert "γ = 0" in text[2]
    assert "unknown" not in text[4]  # the solver never gave up
    assert "epoch 9 used 75%" in text[4]  # shown when pointed at


def test_values_that_cannot_be_drawn_are_left_out() -> None:
    records = [
        {"stage": "I", "loss": value, "feasible": value, "gamma": value, "seconds": value}
        for value in (0.5, float("nan"), float("inf"), 10**400, "x", None, [1], True, -1e308, 0.25)
    ]
    for card in charts(records):
        numbers = re.findall(r"[-\d.]+", " ".join(a["points"] or "" for a in Page(card).all("polyline")))
        assert numbers
        assert all(abs(float(n)) < 1000 for n in numbers)
    assert timing(records).total == 0


def test_one_epoch_and_a_thousand_can_be_drawn() -> None:
    for count in (1, 1000):
        records = history((("I", count),))
        html = "".join([*charts(records), drawn("charts", "line_chart", timing(records).chart)])
        page = Page(html)
        assert len(html) < 600_000
        assert f"epoch {count}" in page.text or count > 1
        assert all(len((a["points"] or "").split()) <= 801 for a in page.all("polyline"))


def test_lines_go_where_their_values_are() -> None:
    chart = drawn("charts", "line_chart", shares("a", "", [ChartLine("a", "c1", [(1, 0.0), (3, 1.0)])], Epochs(3, [])))
    points = (Page(chart).all("polyline")[0]["points"] or "").split()
    (x1, y1), (x2, y2) = (map(float, p.split(",")) for p in points)
    assert x1 < x2
    assert y1 > y2  # up is more
    grid = [float(a["y1"] or 0) for a in Page(chart).all("line", "grid")]
    assert (max(grid), min(grid)) == (y1, y2)
    assert x1 < 0.13 * WIDTH
    assert x2 > 0.97 * WIDTH  # nothing stands beside the lines


def test_scales_and_their_marks() -> None:
    assert Scale(0, 10, 100, 0)(2.5) == 75
    assert Scale(0.01, 1, 0, 100, log=True)(0.1) == pytest.approx(50)
    for low, high in ((0.0, 1.0), (1.0, 57.0), (-3.0, 1e-3), (0.0, 1e9)):
        ticks = round_steps(low, high)
        assert 2 <= len(ticks) <= 7
        assert low - 1e-9 <= ticks[0] <= ticks[-1] <= high * (1 + 1e-9)
    for low in (0.5, 0.02, 1e-5, 1e-30):
        assert 1 <= len(powers(low, 1.0)) <= 8


def test_a_matrix_shows_shares_of_rows_and_names_the_worst() -> None:
    matrix = Matrix("true", "predicted", "held-out", [[90, 10, 0], [0, 100, 0], [0, 0, 0]])
    page = Page(drawn("charts", "confusion", confusion(matrix, ["*", "b", "c"])))
    assert len(page.all("rect", "same")) == 2
    assert len(page.all("rect", "other")) == 1
    assert "true ×, predicted b: 10 (10.0% of the row)" in page.text
    assert "95.00% of 200 symbols agree" in page.text
    assert "× → b 10×" in page.text
    right = Matrix("true", "predicted", "x", [[1, 0], [0, 1]])
    assert "No confusion" in Page(drawn("charts", "confusion", confusion(right, ["a", "b"]))).text


def test_of_too_many_symbols_only_the_worst_confusions_are_named() -> None:
    counts = [[int(j in (i, i + 1)) for j in range(40)] for i in range(40)]
    page = Page(drawn("charts", "confusion", confusion(Matrix("true", "predicted", "x", counts), ["s"] * 40)))
    assert page.all("rect") == []
    assert "and 34 others" in page.text


def test_time_is_split_into_parts() -> None:
    found = timing(history((("I", 2),)))
    assert [(name, spent) for _, name, _, spent in found.parts] == [
        ("network", 2.0),
        ("sampling", 0.5),
        ("solver", 0.25),
        ("the rest", 0.25),
    ]
    assert "epoch 2 network 1 s sampling 0.25 s" in Page(drawn("charts", "line_chart", found.chart)).text
    assert "66.7%" in Page(run_page(facts(history=history((("I", 2),))))).text


@pytest.mark.parametrize("sites", [1, 5, 16, 24])
def test_groundings_are_followed_through_the_run(sites: int) -> None:
    found = findings(sites)
    page = Page(followed(found, watched(sites)))
    assert "before" in page.text
    assert "epoch 1 " in page.text
    assert "epoch 8" in page.text
    assert len(page.all("img")) == sites
    assert page.all("span", "bad")
    assert len(page.all("div", "alone")) >= 2  # before, and Stage II, where there are no chains
    boards = [
        a for a in page.all("div", "sites") if f"--n:{ {1: 1, 5: 5, 16: 4, 24: 10}[sites] }" in (a["style"] or "")
    ]
    assert boards


def test_a_symbol_that_the_chain_and_the_network_disagree_on_has_both() -> None:
    example = Shown(0, Input(), truth=["1", "2"], predicted=["1", "3"], grounded=["1", "2"])
    page = Page(followed(findings(2, watched=[example]), []))
    assert "at the end 1 2 3 truth 1 2" in page.text
    assert len(page.all("small", "bad")) == 1
    assert page.all("span", "bad") == []


def test_the_gallery_says_what_a_wrong_reading_gives() -> None:
    page = Page(looked_at(findings().looked_at))
    assert "✗ gives 11/3 , not 7/2 · 1 of 5 symbols wrong" in page.text
    assert "✓ explains its answer" in page.text
    assert "is 0" in page.text
    assert [len(page.all("article", kind)) for kind in ("right", "wrong")] == [1, 1]


def test_inputs_that_are_not_images_are_shown_as_words() -> None:
    example = Shown(0, Input(text="0.5, 1, 2"), answer="3", predicted=["1", "2"], feasible=True)
    page = Page(looked_at([example]) + followed(findings(2, watched=[example]), []))
    assert page.text.count("0.5, 1, 2") == 2
    assert page.all("img") == []


@pytest.mark.parametrize("truth", [[0.0, 1.5, 2.5], None], ids=["known", "unknown"])
def test_reals_are_drawn_against_the_truth_or_the_grounding(truth: list[float] | None) -> None:
    example = Shown(0, Input(text="a graph"), truth=truth, predicted=[0.1, 1.0, 3.0], grounded=[0.0, 2.0, 2.0])
    records = [
        {"epochs": k, "stage": "I", "examples": [0], "grounded": [[0.0, k, 2]], "predicted": [[k, 1, 1]]}
        for k in range(1, 7)
    ]
    found = findings(3, symbols=[], matrices=[], watched=[example], looked_at=[example])
    page = Page(run_page(facts(findings=found, watched=records)))
    assert len(page.all("circle", "dot")) == 3 * (4 + 1)
    assert len(page.all("circle", "ring")) == (3 * (4 + 1) if truth else 0)
    assert ("true →" in page.text) == (truth is not None)
    assert ("grounded →" in page.text) == (truth is None)
    assert "symbols" not in [a["id"] for a in page.all("section")]


def test_moments_of_a_damaged_gallery_are_left_out() -> None:
    example = findings().watched[0]
    records: list[dict[str, Any]] = [
        {"epochs": 1, "stage": "I"},
        {"epochs": 2, "stage": "I", "examples": [7]},
        {"epochs": 3, "stage": "I", "examples": [7, 0], "predicted": [["1"]], "grounded": 5},
    ]
    assert moments(example, records) == [("epoch 3", None, None)]
    assert moments(example, []) == [("at the end", example.grounded, example.predicted)]


@pytest.mark.parametrize("count", [1, 5, 9, 10, 11, 50, 1000])
def test_moments_are_thinned_to_distinct_ones_with_both_ends(count: int) -> None:
    story = [(str(k), None, None) for k in range(count)]
    chosen = [int(when) for when, *_ in thinned(story, 9)]
    assert len(chosen) == min(count, 9)
    assert chosen == sorted(set(chosen))
    assert (chosen[0], chosen[-1]) == (0, count - 1)


def test_names_that_the_network_chose_are_explained() -> None:
    assert "0 is called 1" in Page(run_page(facts(findings=findings(renamed={"0": "1", "1": "0"})))).text


def test_a_comparison_has_each_run_and_what_differs() -> None:
    config = {"task": "hwf", "recipe": {"preset": "best", "schedule": None}}
    summary = {"after_stage_I": {"symbol_accuracy": 0.99}, "seed": 1}
    other = facts("b-run", config=config, summary=summary, history=history((("I", 3),)))
    html = compare_page([facts(), other])
    page = Page(html)
    assert loads(html) == []
    for words in ("2 runs side by side", "A a-run", "B b-run", "87.50%", "99.00%", "recipe › preset paper best"):
        assert words in page.text
    assert "schedule" not in page.text
    assert len(page.all("b", "best")) == 1
    assert len(page.all("div", "bar")) == 2
    assert "have the same settings" in Page(compare_page([facts(), facts("c")])).text


def test_many_runs_have_letters_of_their_own() -> None:
    page = Page(compare_page([facts(f"run-{k}", findings=None) for k in range(28)]))
    assert "AB run-27" in page.text


def test_a_comparison_ranks_only_runs_of_the_same_task_rule_and_data() -> None:
    def run(name: str, accuracy: float, **config: Any) -> Any:
        summary = {"after_stage_I": {"symbol_accuracy": accuracy, "error": accuracy}}
        return facts(name, config={"task": "hwf"} | config, summary=summary)

    other = {"problem": {"data": "mnist", "split": "standard"}}
    alone = [run("a", 0.9), run("b", 0.8, task="sudoku"), run("c", 0.7, rule="other"), run("e", 0.5, recipe=other)]
    assert Page(compare_page(alone)).all("b", "best") == []
    page = Page(compare_page([*alone, run("d", 0.6)]))
    assert len(page.all("b", "best")) == 1  # of a and d, and an error is no share
    assert "90.00%" in page.text
    assert "0.9 " in page.text


def test_runs_of_one_problem_are_ranked_whatever_their_seed_and_training_examples() -> None:
    def run(name: str, accuracy: float, **problem: Any) -> Any:
        recipe = {"problem": {"data": "digits", "length": 7, "train_size": None} | problem}
        config = {"task": "hwf", "recipe": recipe, "rule": name}  # a digest that is taken with the answers
        return facts(name, config=config, summary={"after_stage_I": {"symbol_accuracy": accuracy}})

    page = Page(compare_page([run("a", 0.9), run("b", 0.8, train_size=100), run("c", 0.95, length=3)]))
    assert len(page.all("b", "best")) == 1
    assert "90.00%" in page.text


def test_suspects_are_a_table_with_probabilities_in_percent() -> None:
    first = [{"example": 7, "answer": "18", "reading": "1 1", "gives": "2", "meant": 0.17186}, "no row"]
    page = Page(run_page(facts(summary={"suspects": {"count": 3, "first": first}, "noise": 0.5})))
    assert "7 18 1 1 2 17.2%" in page.text
    assert "3 training examples" in page.text


def test_everything_the_run_was_asked_to_do_is_shown() -> None:
    stages = [{"name": "I", "objective": {"kernel": {"drop": 2}, "gamma": 0.125}}, {"name": "II"}]
    config = {"format": 7, "version": "0.2.0", "task": "hwf", "recipe": {"preset": "best", "data_dir": None}}
    config |= {"settings": {"stages": stages, "deep": deep(200)}, "data": {"inputs": "d1g35t"}, "rule": "ru1e"}
    page = Page(run_page(facts(config=config)))
    for words in ("preset best", "data_dir –", "stages 1 name I objective kernel drop 2 gamma 0.125 2 name II"):
        assert words in page.text
    for words in ("version 0.2.0", "data inputs d1g35t", "rule ru1e", "python 3.11"):
        assert words in page.text


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def test_a_page_says_when_its_findings_are_older_than_the_run() -> None:
    assert "examples are those after" not in Page(run_page(facts())).text
    assert "examples are those after 3 of 8 epochs" in Page(run_page(facts(findings=findings(epochs=3)))).text


def test_other_maps_are_said_where_the_summary_has_them() -> None:
    """In its words, which come from a file and are escaped; anything else there is left out."""
    summary = facts().summary
    html = run_page(facts(summary=summary | {"other_maps": {"maps": 3, "text": "Two maps <b> would do as well."}}))
    assert "Two maps &lt;b&gt; would do as well." in html
    assert "Other readings" in html
    for other in (None, {"text": 3}, [], {"other_maps": {}}):
        assert "Other readings" not in run_page(facts(summary=summary | {"other_maps": other}))


def test_a_reliability_diagram_says_in_a_table_what_it_draws() -> None:
    html = run_page(facts())
    page = Page(html)
    assert "Held-out data ECE 2.93%; 93.37% of 1,372 symbols are right." in page.text
    assert "80 to 90% 100 87.5% 75.0% -12.5" in page.text
    assert " 10 to 20%" not in page.text  # nothing was read there
    assert (len(page.all("rect", "gap")), len(page.all("rect", "less"))) == (2 * 7, 2 * 1)
    assert "renaming" not in page.text
    named = facts(summary=facts().summary | {"relabelled_symbol_ece": 0.01})
    assert "under the renaming that agrees best" in Page(run_page(named)).text


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        "<script>",
        {"test": None},
        {"test": {"readings": [1] * 10}},
        {"test": {"readings": [1] * 9, "confidence": [0.5] * 9, "accuracy": [0.5] * 9}},
        {"test": {"readings": ["9"] * 10, "confidence": [0.5] * 10, "accuracy": [0.5] * 10}},
        {"test": {"readings": [1] * 10, "confidence": [7.0] * 10, "accuracy": [float("nan")] * 10}},
    ],
)
def test_bins_that_are_none_draw_nothing(given: Any) -> None:
    page = Page(run_page(facts(summary=facts().summary | {"reliability": given})))
    assert "confidence" not in [a["id"] for a in page.all("section")]


def test_the_least_calibration_error_is_the_best() -> None:
    runs = [
        facts(summary={"after_stage_I": {"symbol_ece": ece, "symbol_accuracy": right}})
        for ece, right in ((0.25, 0.5), (0.125, 0.75))
    ]
    html = compare_page(runs)
    assert re.findall(r'<b class="best">([^<]*)</b>', html) == ["12.50%", "75.00%"]


def test_an_epochs_values_are_shown_to_fingers_too() -> None:
    """A title needs a pointer that hovers; a column that was touched has the focus, and the text after it is shown."""
    card = drawn(
        "charts",
        "line_chart",
        shares("Both", "", [ChartLine("a", "c1", [(1, 0.5)]), ChartLine("b", "c2", [])], Epochs(1, [])),
    )
    assert re.search(r'class="hit" tabindex="-1".*?</rect>\s*<text class="told"[^>]*>epoch 1: 50%</text>', card, re.S)


def test_digests_that_differ_are_shown_by_their_beginnings() -> None:
    runs = [facts(config={"task": "hwf", "data": {"inputs": digit * 64}}) for digit in "ab"]
    page = Page(compare_page(runs))
    assert "aaaaaaaa… bbbbbbbb…" in page.text
    assert "a" * 9 not in page.text


def test_seeds_of_one_setting_are_averaged() -> None:
    def run(seed: int, accuracy: float, **more: Any) -> Any:
        config = {"task": "hwf", "recipe": {"preset": "best", "seed": seed} | more}
        return facts(f"run-{seed}", config=config, summary={"after_stage_I": {"symbol_accuracy": accuracy}})

    page = Page(compare_page([run(0, 0.9), run(1, 0.8), run(2, 0.1, preset="paper")]))
    assert "85.00% ± 7.07%" in page.text
    assert "±" not in Page(compare_page([run(0, 0.9), run(1, 0.8, preset="paper")])).text
