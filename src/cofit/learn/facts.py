"""The public facts of a training run, checked: what participants agree on before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from cofit.errors import InvalidInputError, parameter_error
from cofit.learn.asked import (
    PAPER_DEFAULTS,
    SETTINGS,
    TrainingSettings,
    check_counts,
    check_reference,
    check_weights,
    class_count,
    given_to_paper,
    of_numbers,
    other_route,
    rows_are_clipped,
)
from cofit.learn.checked import OWNER, byte_count, flag, integer, one_of, positive, real
from cofit.learn.division import check_divisible, check_shards
from cofit.learn.exact import ADDED
from cofit.learn.losses import LOSSES
from cofit.learn.recipes.descent.budget import pure_penalty, spend
from cofit.learn.recipes.descent.clip import row_limit
from cofit.learn.recipes.descent.public_map import check_cells
from cofit.learn.recipes.descent.pure import takes_pure_steps
from cofit.learn.recipes.descent.shares import Shares, checked_shares, refuse_level
from cofit.learn.recipes.minimiser.settings import INITIALS, SOLVERS
from cofit.learn.settings import RECIPES, WHO_SCALES
from cofit.learn.weights import checked_class_weights
from cofit.privacy.mechanisms import MECHANISMS
from cofit.privacy.objective import SENSITIVITIES
from cofit.privacy.release_names import CENTRE, LEVEL
from cofit.privacy.zcdp import LARGEST_EPSILON
from cofit.sharing import SCHEMES, Spec, scheme_named

PARTITIONS = ("horizontal", "vertical")
_FEWEST_ROWS = 2
_MOST_ROWS = 1 << 40
_MOST_EPOCHS = 1_000_000
_MOST_PARTIES = 1 << 16
AUTO_PURE = "auto"
"""The K-norm mechanism, or Laplace where epsilon is so large that K-norm noise cannot be sampled closely enough."""
DEFAULT_NORM_FLOOR, NUMBER_NORM_FLOOR = Fraction(1, 16), Fraction(1)
"""Directions tell classes apart. Of a real target the length of a row says as much, so that short ones stay short."""
DEFAULT_DELTA = 1e-6
"""Of recipe 'best': a delta of 0 costs much accuracy, and this one is far below 1 / n for most data."""
DESCENT, MINIMISER = "descent", "minimiser"


@dataclass(frozen=True)
class Facts:
    """Public facts; make them with ``training_facts``, which checks them and fills in defaults.

    threshold: None is the most corrupted parties that the scheme withstands. route: None is the scheme's usual one.
    weight_bound: records have weights, none larger. class_weights: by the names of ``weights.class_names``.
    classes: how many the target has, where it has classes. shared_model: the weights stay shares and are not opened.
    reference: the hash of the public map of the rows (``recipes.descent.reference``); ``cols`` are what it maps to.
    largest_count: what no count exceeds, where the target is a count.
    reference_inputs: how many columns it maps, where owners hold columns and the parties apply it.
    memory: the bytes that a party may use, by which batches of rows are made; None: no limit.
    shards: among how many every party divides the rows (``division``), each a process that may use ``memory``; None:
    a party is one process.
    pure_steps: with delta = 0, K-norm noise in a few steps (``recipes.descent.pure``).
    """

    rows: int
    cols: int
    partition: str
    recipe: str
    loss: str
    l2: Fraction
    epsilon: Fraction
    delta: Fraction
    mechanism: str
    sensitivity: str
    scheme: str
    epochs: int | None
    solver: str
    learning_rate: Fraction | None
    momentum: Fraction
    initial: str
    fit_intercept: bool
    intercept_scaling: Fraction
    normalised_by: str
    feature_bound: Fraction
    feature_lower: Fraction
    row_nonzeros: int | None
    calibrate_intercept: bool
    budget_shares: Shares
    norm_floor: Fraction
    row_limit: Fraction | None
    tolerance: Fraction
    allow_unproven: bool
    threshold: int | None = field(default=None, metadata=ADDED)
    route: str | None = field(default=None, metadata=ADDED)
    weight_bound: Fraction | None = field(default=None, metadata=ADDED)
    class_weights: Shares = field(default=(), metadata=ADDED)
    classes: int = field(default=2, metadata=ADDED)
    shared_model: bool = field(default=False, metadata=ADDED)
    reference: str | None = field(default=None, metadata=ADDED)
    largest_count: int | None = field(default=None, metadata=ADDED)
    reference_inputs: int | None = field(default=None, metadata=ADDED)
    memory: int | None = field(default=None, metadata=ADDED)
    shards: int | None = field(default=None, metadata=ADDED)
    pure_steps: bool = field(default=False, metadata=ADDED)

    @property
    def method(self) -> str:
        """'descent': noise in every step. 'minimiser': noise on the minimiser, as in the paper.

        Recipe 'best' falls back on the latter for delta = 0, but with ``pure_steps``, and where rows are said to be
        sparse and the owners scale them (the parties would have to compare every value with 0), and what is predicted
        are classes.
        """
        if self.recipe == "paper":
            return MINIMISER
        return DESCENT if self.delta or self.pure_steps or self.sparse else MINIMISER

    @property
    def sparse(self) -> bool:
        """Whether rows are said to be so sparse that Laplace noise is less, where delta is 0."""
        sparse = self.row_nonzeros is not None and 2 * self.row_nonzeros < self.cols and not of_numbers(self.loss)
        return sparse and self.normalised_by == "owners"

    def spec(self, parties: int | None = None) -> Spec:
        """Return the scheme among so many parties; None: as many as is usual. Refuses what does not fit together."""
        return scheme_named(self.scheme).info.spec(parties, self.threshold, self.route)

    def among(self, parties: int | None) -> Facts:
        """Return the facts of a run among so many parties, which leave out a threshold that is the usual one.

        Raises InvalidInputError where parties or threshold do not fit the scheme.
        """
        info = scheme_named(self.scheme).info
        count = info.default_parties if parties is None else parties
        return replace(self, threshold=info.chosen_threshold(count, self.threshold))

    @property
    def input_cols(self) -> int:
        """How many columns the owners share: more than ``cols`` where the parties map them to these."""
        return self.cols if self.reference_inputs is None else self.reference_inputs

    @property
    def norm(self) -> str:
        """The norm in which no row is longer than 1: 'l1' for the Laplace noise of descent with delta = 0."""
        return "l1" if self.method == DESCENT and not self.delta and not self.pure_steps else "l2"

    @property
    def divisible(self) -> bool:
        """Whether the rows can be in shards: all that descent does with them is by rows, or a sum of them."""
        return self.method == DESCENT

    @property
    def cut_length(self) -> float | None:
        """The length that owners cut rows to; None where rows are not clipped, or values have agreed bounds."""
        return float(self.row_limit) if self.row_limit is not None and self.normalised_by == "owners" else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, under the names of ``training_facts``."""
        plain = {name: float(v) if isinstance(v, Fraction) else v for name, v in self.__dict__.items()}
        for name in ("budget_shares", "class_weights"):
            plain[name] = {one: float(share) for one, share in getattr(self, name)} or None
        del plain["epochs"], plain["solver"]
        if self.shards is None:
            del plain["shards"]
        if self.method == DESCENT:
            return {name: value for name, value in plain.items() if name not in PAPER_DEFAULTS}
        plain["epochs_asked"] = "auto" if self.epochs is None else self.epochs
        plain["solver_asked"] = self.solver
        return plain


PARAMETERS = (
    *("rows", "cols", "partition", "loss", "route", "classes", "shared_model", "reference", "reference_inputs"),
    *("largest_count", "shards"),
    *SETTINGS,
)
"""Of ``training_facts``."""


def training_facts(
    rows: int,
    cols: int,
    *,
    partition: str = "horizontal",
    loss: str = "logistic",
    route: str | None = None,
    classes: int = 2,
    shared_model: bool = False,
    reference: str | None = None,
    largest_count: int | None = None,
    reference_inputs: int | None = None,
    shards: int | None = None,
    **settings: Any,
) -> Facts:
    """Check the facts and fill in defaults. ``settings``: those of ``TrainingSettings``.

    rows, cols: of the joint data, without the intercept. partition: 'horizontal' (owners hold rows) or 'vertical'
    (columns). route: of the products, where the scheme has a choice (``routed_plan``); None: the usual one.
    classes: how many, agreed on and not counted in the data. More than two: recipe 'best' with delta > 0.
    shared_model: whether the weights stay shares at the parties, who answer questions with them and never open them.
    reference: the hash of a public reference's map, by which owners of whole rows map them before they scale them; cols
    are those that it maps to. Recipe 'best' with delta > 0, and classes. reference_inputs: with partition='vertical',
    how many columns it maps; there the parties apply it to shares.
    largest_count: with the loss 'poisson', what no count exceeds: agreed on, and not taken from the data. Recipe 'best'
    with delta > 0.
    memory: the most that a party may use, in bytes or as in '1 GB'. It decides how many batches rows go in, so all
    parties have it in common; None: no limit.
    shards: among how many every party divides the rows, each with a session of its own; all parties have the number in
    common, and ``memory`` is the limit of each. Noisy descent only: recipe 'best' with delta > 0, or with sparse rows.
    None: a party is one process.
    threshold: how many computing parties may be corrupted together, where the scheme withstands more; it must fit the
    number of parties, which is no fact of the plan.
    recipe: 'best' (noisy descent, the most accurate known to us for these facts) or 'paper' (the paper's
    method, calibrated honestly). delta: None takes 1e-6 with recipe 'best', and 0 with recipe 'paper'.
    normalised_by: 'owners' or 'parties'. None takes the parties where rows are not whole, and, with recipe 'best',
    where the features have agreed ranges whose level is worth its price, or the target is a number; else the owners.
    feature_bound, feature_lower: no value is larger in magnitude than the first, and the mean of a row is never below
    the second (minus the first by default). Where they are given, features have agreed ranges; where the parties
    normalise, the bound is 1 by default. norm_floor: where the parties normalise, rows shorter than this (times
    feature_bound) are not stretched further; None: 1/16, and 1 for a real target.
    clip_rows: recipe 'best' with delta > 0: whether rows are not scaled to length 1, but centred by a private mean,
    stretched by private spreads and clipped at a private radius, so that it matters little how the columns are scaled.
    None: where there are few columns and many rows for that (``clipping_pays``). Facts have ``row_limit`` then: the
    length that no row exceeds, feature_bound sqrt(cols), or 2 sqrt(cols) where no bound is given (owners cut longer
    rows). feature_lower and norm_floor say nothing then.
    row_nonzeros: about how many values of a row are not 0, as far as is publicly known. It matters for recipe 'best'
    with delta = 0 only, for the accuracy and not for the guarantee. calibrate_intercept: recipe 'best' with delta > 0
    spends 5 % of its budget on three steps for the intercept alone, after the weights. budget_shares: shares of the
    budget (of mu^2) for 'level', 'centre' and 'intercept' that replace the recipe's; 0: no such release. The steps have
    what is left. Recipe 'best' with delta > 0 only. pure_steps: recipe 'best' with delta = 0 takes a few steps with
    K-norm noise where a rule of rows, columns and epsilon says that this is better (``recipes.descent.pure``), unless
    rows are said to be sparse. None: False, as for facts from before there was this choice. weight_bound: records have
    weights, from 0 to this one; the noise is that of a record with the largest. class_weights: a public weight for each
    class, in their order. Both with recipe 'best' and delta > 0 only, and one of them at most.

    With recipe 'paper' only (None: the default):
    l2: Lambda, the penalty of the mean loss, 1. mechanism: None takes 'knorm' when delta is 0 ('laplace' where epsilon
    is so large that K-norm noise cannot be sampled closely enough), else 'gaussian'. sensitivity: 'tight' or 'paper'.
    epochs: a number, or 'auto': as many as bring the weights within ``tolerance`` times the sensitivity's half of the
    minimiser. learning_rate, momentum, initial ('zeros', 'glorot'): the paper's training instead of the fixed step.
    intercept_scaling: the constant of the intercept's column. allow_unproven: plan even where no distance to the
    minimiser is proven; the certificate says so first.
    """
    asked = TrainingSettings(**settings)
    recipe, delta, scheme, fit_intercept = asked.recipe, asked.delta, asked.scheme, asked.fit_intercept
    normalised_by, feature_bound, feature_lower = asked.normalised_by, asked.feature_bound, asked.feature_lower
    row_nonzeros, calibrate_intercept = asked.row_nonzeros, asked.calibrate_intercept
    one_of(PARTITIONS, "partition", partition)
    one_of(RECIPES, "recipe", recipe)
    given = given_to_paper(asked)
    if delta is None:
        delta = DEFAULT_DELTA if recipe == "best" else 0.0
    l2, mechanism, sensitivity = given["l2"], given["mechanism"], given["sensitivity"]
    epochs, solver, learning_rate = given["epochs"], given["solver"], given["learning_rate"]
    momentum, initial, intercept_scaling = given["momentum"], given["initial"], given["intercept_scaling"]
    one_of(SENSITIVITIES, "sensitivity", sensitivity)
    one_of(SOLVERS, "solver", solver)
    one_of(INITIALS, "initial", initial)
    one_of(tuple(sorted(LOSSES)), "loss", loss)
    one_of(tuple(sorted(SCHEMES)), "scheme", scheme)
    exact_delta = real("delta", delta, "a number from 0 to below 1", lambda v: 0 <= v < 1)
    if mechanism is None:
        mechanism = "gaussian" if exact_delta > 0 else AUTO_PURE
    else:
        one_of(tuple(MECHANISMS), "mechanism", mechanism)
    pure = mechanism == AUTO_PURE or MECHANISMS[mechanism].pure
    if not pure and not exact_delta:
        raise parameter_error("delta", OWNER, f"above 0 for the {mechanism} mechanism (for example 1e-6)", delta)
    if pure and exact_delta:
        raise parameter_error("delta", OWNER, f"0 with mechanism '{mechanism}', which needs none", delta)
    most = f"at most {LARGEST_EPSILON}{', and usually far less with a delta above 0' if exact_delta else ''}"
    exact_epsilon = real("epsilon", asked.epsilon, f"a number above 0 and {most}", lambda v: 0 < v <= LARGEST_EPSILON)
    rows = integer("rows", rows, _FEWEST_ROWS, _MOST_ROWS, "; with fewer, no record could hide among others")
    cols = integer("cols", cols, 1, 1 << 32)
    if flag("calibrate_intercept", calibrate_intercept) and not (recipe == "best" and exact_delta and fit_intercept):
        must_be = "False unless recipe='best', delta > 0 and there is an intercept"
        raise parameter_error("calibrate_intercept", OWNER, must_be, calibrate_intercept)
    check_counts(asked, loss, largest_count, exact_delta)
    check_weights(asked, loss, recipe == "best" and bool(exact_delta))
    shares = checked_shares(
        asked.budget_shares, possible=recipe == "best" and bool(exact_delta), calibrate=bool(calibrate_intercept)
    )
    if reference is not None:
        check_reference(reference, asked, loss, recipe == "best" and bool(exact_delta))
    mapped_by_parties = reference is not None and partition == "vertical"
    if (reference_inputs is not None) != mapped_by_parties:
        must_be = "the number of columns that the reference maps where owners hold columns, and None elsewhere"
        raise parameter_error("reference_inputs", OWNER, must_be, reference_inputs)
    if reference_inputs is not None:
        check_cells(integer("reference_inputs", reference_inputs, cols, 1 << 32), cols)
        if {CENTRE, LEVEL} & set(dict(shares)):
            must_be = f"without '{CENTRE}' and '{LEVEL}' where the parties map rows: the reference centres them"
            raise parameter_error("budget_shares", OWNER, must_be, asked.budget_shares)
    noisy_steps = exact_delta if recipe == "best" and reference is None else Fraction(0)
    clips = rows_are_clipped(asked.clip_rows, rows, cols, exact_epsilon, noisy_steps, shares)
    by = normalised_by
    if by is None:
        by = "owners" if partition == "horizontal" else "parties"
        if reference is not None:
            by = "parties" if mapped_by_parties else "owners"
        elif clips:
            by = by if feature_bound is None else "parties"
        elif recipe == "best" and exact_delta and of_numbers(loss):
            by = "parties"
        elif recipe == "best" and exact_delta and feature_bound is not None:
            budget = spend(rows, cols, exact_epsilon, exact_delta, ranges=True, chosen=shares)
            by = "parties" if budget.level is not None else by
    one_of(WHO_SCALES, "normalised_by", by)
    if reference is not None and partition == "horizontal" and by == "parties":
        must_be = "None or 'owners' with a reference: owners of rows map and scale them"
        raise parameter_error("normalised_by", OWNER, must_be, normalised_by)
    if partition == "vertical" and by == "owners":
        raise parameter_error(
            "normalised_by", OWNER, "'parties' in a vertical study: no owner sees a whole row", normalised_by
        )
    refuse_level(shares, by)
    unbounded = feature_bound is None and by == "owners"
    rate = None if learning_rate is None else positive("learning_rate", learning_rate)
    exact_momentum = real("momentum", momentum, "from 0 to below 1", lambda v: 0 <= v < 1)
    if rate is None and (exact_momentum or initial != "zeros"):
        raise InvalidInputError("momentum and initial='glorot' belong to the paper's training: give learning_rate too.")
    scaling = positive("intercept_scaling", intercept_scaling)
    bound = positive("feature_bound", 1.0 if feature_bound is None else feature_bound)
    if feature_lower is not None and feature_bound is None and recipe == "best":
        must_be = "left out without feature_bound: both ends of the range are agreed on together"
        raise parameter_error("feature_lower", OWNER, must_be, feature_lower)
    lower = -bound if feature_lower is None else real("feature_lower", feature_lower, "a number", lambda _: True)
    if not -bound <= lower < bound:
        must_be = f"from minus feature_bound to below it (feature_bound is {float(bound):g})"
        raise parameter_error("feature_lower", OWNER, must_be, feature_lower)
    default = float(NUMBER_NORM_FLOOR if of_numbers(loss) else DEFAULT_NORM_FLOOR)
    norm_floor = default if asked.norm_floor is None else asked.norm_floor
    floor = real("norm_floor", norm_floor, "above 0 and at most 1", lambda v: 0 < v <= 1)
    if recipe == "best":
        scaling = min(scaling, bound)
    elif by == "parties" and fit_intercept and scaling > bound:
        raise parameter_error(
            "intercept_scaling",
            OWNER,
            f"at most feature_bound ({float(bound):g}) where the parties normalise",
            intercept_scaling,
        )
    facts = Facts(
        rows=rows,
        cols=cols,
        partition=partition,
        recipe=recipe,
        loss=loss,
        l2=positive("l2", l2) if recipe == "paper" else pure_penalty(rows, cols, exact_epsilon),
        epsilon=exact_epsilon,
        delta=exact_delta,
        mechanism=mechanism,
        sensitivity=sensitivity,
        scheme=scheme,
        epochs=None
        if isinstance(epochs, str) and epochs == "auto"
        else integer("epochs", epochs, 1, _MOST_EPOCHS, ", or 'auto'"),
        solver=solver,
        learning_rate=rate,
        momentum=exact_momentum,
        initial=initial,
        fit_intercept=flag("fit_intercept", fit_intercept),
        intercept_scaling=scaling,
        normalised_by=by,
        feature_bound=bound,
        feature_lower=-bound if clips else lower,
        row_nonzeros=None if row_nonzeros is None else integer("row_nonzeros", row_nonzeros, 1, cols),
        calibrate_intercept=bool(calibrate_intercept),
        budget_shares=shares,
        norm_floor=DEFAULT_NORM_FLOOR if clips else floor,
        row_limit=row_limit(cols, None if unbounded else bound) if clips else None,
        tolerance=real("tolerance", given["tolerance"], "above 0 and at most 0.1", lambda v: 0 < v <= 0.1),
        allow_unproven=flag("allow_unproven", given["allow_unproven"]),
        threshold=None if asked.threshold is None else integer("threshold", asked.threshold, 1, _MOST_PARTIES),
        route=other_route(scheme, route),
        weight_bound=None if asked.weight_bound is None else positive("weight_bound", asked.weight_bound),
        class_weights=checked_class_weights(asked.class_weights, classes),
        classes=class_count(classes, loss, recipe, exact_delta),
        shared_model=flag("shared_model", shared_model),
        reference=reference,
        largest_count=largest_count,
        reference_inputs=reference_inputs,
        memory=None if asked.memory is None else byte_count("memory", asked.memory),
        shards=None if shards is None else check_shards(shards, owner=OWNER),
    )
    facts = replace(
        facts, pure_steps=takes_pure_steps(facts, asked.pure_steps, dense=not facts.sparse and not of_numbers(loss))
    )
    check_divisible(facts.shards, rows, divisible=facts.divisible)
    return facts
