"""The table of checks: one row for each kernel, inverse, teacher, schedule, space, constraint, projection and move.

The paper's baselines, which papers.li2023 registers, have rows too.

A row says how to make a small one, on which ground to try it, and which tests prove what is particular to it:
"file::test", without their ``test_``. ``tests/test_conformance.py`` reads it, and fails where a member has no row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

import reals
from papers.li2023 import baselines
from problems import small_sum
from softground import inverses, kernels, projections, schedules, training
from softground.constraints import SMT, All, Cnf, Constraint, CPMpy, Program, Scan, Sum
from softground.data.anchors import Anchors
from softground.estimator import Weights
from softground.inverses import Inverse, Listing, Scanned
from softground.inverses.records import RECORDED, RecordedProgram, RecordedScan, record
from softground.kernels import Collapsed, DirectWalk, Exact, Guided, Kernel, Metropolis, Several, Uniform
from softground.projections import Drop, Move, Projection, RandomBlock, RandomDrop, SwapInside
from softground.reals import AddNoise, Conditional, Equations, Gaussian, PointMass
from softground.schedules import Schedule
from softground.spaces import Categorical, Space
from softground.target import Target
from softground.task import Task
from softground.tasks.addition import AdditionScan, addition_scan
from softground.tasks.formulas.completions import LongFormulas
from softground.tasks.formulas.rule import formula_program
from softground.tasks.sdsp import BlockGibbs, Differences, Intervals, SiteGibbs
from softground.tasks.sdsp.problem import Zero
from softground.tasks.sudoku.rule import Boards, sudoku_program
from softground.tasks.sudoku.walks import Completion
from softground.training import Teacher, Term
from softground.training.labelled_inputs import LabelledInputs
from softground.training.scaled import Scaled
from sudoku_cases import BOARDS

BATCH, GAMMA, NONE = 6, 0.7, 99  # nothing adds up to 99


@dataclass(frozen=True)
class Ground:
    """A small problem to try a member on: ``z`` are states, feasible for the answers of all grounds but MIXED."""

    rule: Any
    answers: list[Any]
    z: Tensor

    def target(self, gamma: float = GAMMA, y: Tensor | None = None) -> Target[Any]:
        space = self.rule.space
        shape = (len(self.z), space.sites, space.outputs) if space.categorical else (len(self.z), space.sites)
        output = torch.randn(shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
        return Target.at(space.belief(output), self.rule.encode(self.answers) if y is None else y, gamma)


# A problem of its own: answers that nothing explains would make other tests' table unsolvable.
PROBLEM, REAL, NINE = small_sum(), reals.PROBLEMS[2], formula_program(9)
SPACE, STATES, TABLE = PROBLEM.space, PROBLEM.states, PROBLEM.table
EVERYTHING = SPACE.states(torch.arange(SPACE.size))
SUM = Ground(PROBLEM.program, [PROBLEM.answer] * BATCH, STATES[:BATCH])
MIXED = replace(SUM, answers=[5, 5, 0, 9, 7, NONE])
BOARD = Ground(sudoku_program(4), [True] * BATCH, BOARDS[::48])
LINE = Ground(REAL.rule, list(REAL.answer(BATCH)), REAL.exact_draws(BATCH, 1.0, 0))
TOTALS = Ground(
    Equations([[1, 1, 1], [0, 1, -2]], Gaussian(3)),
    [(6.0, float(b - 4)) for b in range(BATCH)],
    torch.tensor([[6.0 - 2.0 - b, b, 2.0] for b in range(BATCH)], dtype=torch.float64),
)
LONG = Ground(NINE, [8] * BATCH, NINE.space.encode([(d, "*", 8 // d, "+", 1, "-", 1, "/", 1) for d in (1, 2, 4)] * 2))
ADDITION = Ground(addition_scan(1), [7] * BATCH, torch.tensor([[d, 7 - d] for d in range(BATCH)]))
CLAUSES = Ground(
    Cnf([[1, 2], [-2, 3], [3, 4, 5]]),
    [True] * BATCH,
    torch.tensor([[1, 1, 1, b & 1, b // 2] for b in range(4)] + [[1, 0, 0, 0, 1], [1, 0, 1, 0, 0]]),
)
FAMILY, MOVE = RandomDrop(SPACE, PROBLEM.drops), projections.ChangeOne(SPACE)
TASK, GUIDED = Task(SPACE, PROBLEM.program, TABLE), Guided(TABLE, FAMILY, marginals=True)


def scan() -> Scan:
    return Scan(lambda total, digit: total + digit, SPACE)


def smt() -> SMT:
    return SMT(lambda z, y: sum(z) == y, SPACE)


def cpmpy() -> CPMpy:
    return CPMpy(lambda z, y: sum(z) == y, SPACE)


def lists() -> inverses.Lists:
    rule = smt()
    return inverses.Lists.of(inverses.Z3(rule), rule.encode(MIXED.answers))


def anchors() -> LabelledInputs:
    return LabelledInputs(Anchors(torch.arange(3.0)[:, None], [0, 1, 3], batch=4))


BIAS = "kernels_exact::bias_of_the_papers_kernel"
MATRIX, DRAWS = "kernels_exact::leaves_the_softened_grounding_invariant", "kernels_draws::draws_agree_with_the_law"
WALK = "kernels_exact::a_direct_walk_has_detailed_balance"
CRUDE = "sudoku_kernels::the_crude_walk_keeps_the_law_but_reaches_relabellings_only"
SWAPS = "moves::swaps_of_symbols_keep_the_law_and_join_what_blocks_leave_apart"
RANDOM_BLOCKS = "moves::random_blocks_keep_the_law_and_are_those_of_the_listed_family"
RESOLVED = "moves::blocks_that_a_solver_cannot_list_stay_and_keep_the_law"
BOARD_MATRIX = "sudoku_kernels::leaves_the_softened_grounding_invariant"
REAL_DRAWS = "gaussian_kernels::leaves_the_law_invariant"
REAL_WALKS = "gaussian_kernels::the_papers_kernel_stays_feasible_and_moves"
NEAREST = "intervals::nearest_points_against_a_quadratic_program"
FIBRES, LAW = "inverses::fibres_equal_brute_force", "sets::the_law_is_that_of_enumeration"
LONG_SUMS = "long_sums::mass_and_marginals_are_those_of_the_recursion_site_by_site"
SMT_FIBRES = "z3_inverse::fibres_starts_and_solutions_on_a_small_problem"
BOARD_FIBRES = "sudoku_rule::search_finds_the_fibres_of_z3"
SMT_RULE = "smt::feasible_equals_brute_force_for_every_state_and_answer"
CPMPY_RULE = "cpmpy::feasible_is_cpmpys_own_value_for_every_state"
EVALUATOR = "program::formula_values_agree_with_an_independent_evaluator"
SAVED = "model::the_rule_is_kept_without_its_function"
SOFTENED = "softened_grounding::gradient_at_gamma_one_is_the_semantic_losss"
COMPOSITE = "composite::the_gradient_is_that_of_the_parts_log_masses_by_brute_force"
TREES = "back_search::one_site_fibres_are_the_corrections_of_the_tree_search"
STAGE_TWO = "learner::stage_two_uses_exactly_the_examples_whose_prediction_is_feasible"
YARDSTICK = "learner::supervision_is_the_yardstick_and_does_look_at_them"
READINGS = "readings::the_law_is_that_of_brute_force_over_all_strings"
PAPER_LOG = "schedules::logarithmic_is_the_papers_formula_from_the_second_pass_on"

# How a kernel's law is known: by its transition matrix, over all outcomes of the code that runs; or by drawing.
MATRICES = {MATRIX, WALK, BOARD_MATRIX, "extending::the_kernel"}  # the last is the example that the guide adds
STATISTICS = {REAL_DRAWS}
OTHER_CLAIMS = {Metropolis: BIAS, PointMass: NEAREST}  # they do not claim to sample Q* by themselves

TABLES: dict[type, dict[type, tuple[Any, ...]]] = {
    Kernel: {
        Exact: (lambda: Exact(TABLE), SUM, MATRIX, DRAWS),
        Guided: (lambda: GUIDED, SUM, MATRIX, DRAWS),
        Several: (lambda: Several(TABLE, FAMILY, tries=2, marginals=True), SUM, MATRIX, DRAWS),
        Collapsed: (lambda: Collapsed(TABLE, FAMILY, MOVE, marginals=True), SUM, MATRIX, DRAWS),
        Uniform: (lambda: Uniform(TABLE, FAMILY, MOVE), SUM, MATRIX, DRAWS),
        kernels.Composed: (lambda: kernels.Composed([GUIDED, Exact(TABLE)]), SUM, MATRIX),
        Metropolis: (lambda: Metropolis(TABLE, FAMILY, MOVE), SUM, BIAS),
        DirectWalk: (lambda: DirectWalk(MOVE, PROBLEM.program), SUM, WALK, CRUDE),
        SiteGibbs: (lambda: SiteGibbs(REAL.rule), LINE, REAL_DRAWS),
        BlockGibbs: (lambda: BlockGibbs(REAL.rule, RandomDrop(REAL.rule.space, 2)), LINE, REAL_DRAWS),
        PointMass: (lambda: PointMass(Intervals(REAL.rule)), LINE, NEAREST),
    },
    Inverse: {
        inverses.Table: (lambda: TABLE, MIXED, FIBRES, LAW),
        inverses.Enumeration: (lambda: PROBLEM.enumeration, MIXED, FIBRES, LAW),
        inverses.Circuit: (lambda: inverses.Circuit(CLAUSES.rule), CLAUSES, LAW),
        Listing: (lambda: Listing(SPACE, STATES), SUM, "listing::fibres_are_those_of_enumeration", LAW),
        Scanned: (lambda: Scanned(scan()), MIXED, "scan::fibres_are_those_of_enumeration", LAW, LONG_SUMS),
        inverses.Z3: (lambda: inverses.Z3(smt()), MIXED, SMT_FIBRES),
        inverses.CPSAT: (lambda: inverses.CPSAT(cpmpy()), MIXED, "cpsat::fibres_equal_enumeration"),
        inverses.Lists: (lists, MIXED, "ladder::lists_have_the_law_of_the_table"),
        Completion: (lambda: Completion(4), BOARD, BOARD_FIBRES),
        LongFormulas: (lambda: LongFormulas(NINE), LONG, "long_formulas::fibres_are_those_of_enumeration"),
        Intervals: (lambda: Intervals(REAL.rule), LINE, "intervals::completions_against_z3"),
        Conditional: (lambda: Conditional(TOTALS.rule), TOTALS, "equations::the_law_is_the_conditional_gaussian"),
        baselines.Z3Reals: (lambda: baselines.Z3Reals(REAL.rule), LINE, "intervals::completions_against_z3"),
    },
    Teacher: {
        training.SoftenedGrounding: (lambda: training.SoftenedGrounding(GUIDED, schedules.Linear()), SUM, SOFTENED),
        training.SemanticLoss: (training.SemanticLoss, SUM, "semantic::the_gradient_is_that_of_brute_force"),
        training.CompositeLikelihood: (training.CompositeLikelihood, SUM, COMPOSITE),
        baselines.Reinforce: (baselines.Reinforce, SUM, "reinforce::the_gradient_is_that_of_the_expected_reward"),
        baselines.MAPO: (baselines.MAPO, SUM, "mapo::unclipped_it_has_the_gradient_of_the_expected_reward"),
        baselines.BackSearch: (baselines.BackSearch, SUM, TREES),
        baselines.FeasibleMapping: (baselines.FeasibleMapping, SUM, "hard::a_feasible_mapping_is_drawn_once"),
        baselines.BestMapping: (baselines.BestMapping, SUM, "hard::the_best_mapping_is_that_of_brute_force"),
        training.ZeroDegree: (training.ZeroDegree, SUM, STAGE_TWO),
        training.Supervised: (training.Supervised, SUM, YARDSTICK),
    },
    Term: {
        training.Usage: (training.Usage, SUM, "terms::the_usage_prior_is_a_divergence_of_mean_readings"),
        training.Noise: (lambda: training.Noise("learn"), SUM, "noise::the_gradient_is_that_of_the_mixture"),
        Scaled: (Scaled, SUM, "scaled::the_slope_is_that_of_the_scaled_law"),
        Weights: (lambda: Weights(torch.linspace(0.1, 2, 64)), SUM, "estimator::weights_of_examples"),
        LabelledInputs: (anchors, SUM, "labelled::anchors_add_their_cross_entropy"),
    },
    Schedule: {
        baselines.CodeLinear: (baselines.CodeLinear, SUM, "schedules::the_codes_schedules_are_its_updates"),
        baselines.CodeLogarithmic: (baselines.CodeLogarithmic, SUM, "schedules::the_codes_schedules_are_its_updates"),
        schedules.Auto: (schedules.Auto, SUM, "schedules::constant_formula"),
        schedules.Constant: (schedules.Constant, SUM, "schedules::constant_formula"),
        schedules.Exponential: (schedules.Exponential, SUM, "schedules::exponential_formula"),
        schedules.Linear: (schedules.Linear, SUM, "schedules::linear_formula"),
        schedules.Logarithmic: (schedules.Logarithmic, SUM, PAPER_LOG),
        Zero: (Zero, SUM, "sdsp::the_command_line_learns"),
    },
    Space: {
        Categorical: (lambda: SPACE, SUM, "spaces::log_prob_is_the_sum_over_sites", READINGS),
        Gaussian: (lambda: REAL.rule.space, LINE, "gaussian::log_prob_is_the_sum_over_sites"),
    },
    Constraint: {
        Program: (lambda: PROBLEM.program, SUM, EVALUATOR),
        Scan: (scan, SUM, "scan::feasible_states_are_those_read_by_hand"),
        AdditionScan: (lambda: ADDITION.rule, ADDITION, "addition::scan_and_program_agree"),
        SMT: (smt, SUM, SMT_RULE),
        CPMpy: (cpmpy, SUM, CPMPY_RULE, "cpmpy::random_rules_are_evaluated_as_cpmpy_does"),
        Boards: (lambda: Boards(4), BOARD, "sudoku_rule::the_groups_are_the_parts"),
        All: (lambda: All([Sum(range(SPACE.sites))], SPACE), SUM, "pieces::a_state_is_feasible_where_every_part_holds"),
        Cnf: (lambda: CLAUSES.rule, CLAUSES, "cnf::feasible_states_are_those_found_by_hand"),
        RecordedProgram: (lambda: RECORDED["table"](SPACE, *record(TABLE)).constraint, SUM, SAVED),  # type: ignore[misc]
        RecordedScan: (lambda: RECORDED["scan"](SPACE, *record(Scanned(scan()))).constraint, SUM, SAVED),  # type: ignore[misc]
        Equations: (lambda: TOTALS.rule, TOTALS, "equations::feasible_is_the_definition"),
        Differences: (lambda: REAL.rule, LINE, "difference::feasible_is_the_definition"),
    },
    Projection: {
        Drop: (lambda: Drop(SPACE, [0, 2]), SUM, MATRIX),
        RandomDrop: (lambda: FAMILY, SUM, MATRIX),
        RandomBlock: (lambda: RandomBlock(SPACE, 2), SUM, RANDOM_BLOCKS, RESOLVED),
    },
    Move: {
        projections.ChangeOne: (lambda: MOVE, SUM, MATRIX),
        SwapInside: (lambda: SwapInside(SPACE, [[0, 1, 2]]), SUM, BOARD_MATRIX),
        projections.SwapSymbols: (lambda: projections.SwapSymbols(SPACE), SUM, CRUDE, SWAPS),
        projections.Stay: (projections.Stay, SUM, RESOLVED),
        AddNoise: (AddNoise, LINE, REAL_WALKS),
    },
}
