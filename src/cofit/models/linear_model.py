"""A trained linear model: what was released, how to score a row with it, and its certificate.

Recipe 'best':

    score(x) = <weights, z> + intercept

with z the row as it was prepared in training (``recipes.descent.row_map``: centred, and scaled to length 1 or less).
Half of the margin that the loss speaks of, so sigmoid(2 score) is what ``predict_proba`` returns.

Recipe 'paper':

    score(x) = (<weights, x> + intercept) / max(||(x, c)||, floor)

is the score <w, x'> of the row x' as it was normalised in training: c is the constant of the intercept's column (0
without one) and floor the shortest length that rows were divided by (0 where the owners normalised). An all-zero row
without an intercept scores 0. The divisor is never negative, so the sign, and with it the predicted class, is that of
<weights, x> + intercept.

The weights are those that were released (``coef``), after a threshold where there is a ``shrinkage``: by default
where noise is normal, of recipe 'best', and the release itself shows that it helps (``recipes.descent.shrinkage``).

A model of a real target has its range, [lower, upper], and no classes: it predicts

    (lower + upper) / 2 + (upper - lower) / 2 * score

and never a number beyond the range.

Where there are several classes each has weights and an intercept of its own, and so a score; the largest one tells the
class. Of two classes the score tells the second from the first.

A model that was smoothed by unlabelled rows (``smoothed``) has other weights, and is never saved (``smoothing``).

A model with ``bounds`` scales the columns of a row by them first; x above is the scaled row.

Everything in a model is public: it is the noisy release and its certificate. Reading is strict and executes nothing.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError, parameter_error
from cofit.learn.losses import loss_named
from cofit.learn.plan import Plan
from cofit.learn.recipes.descent.reference import ReferenceMap
from cofit.learn.recipes.descent.row_map import RowMap
from cofit.learn.recipes.descent.shrinkage import shrunk_weights
from cofit.models.column_bounds import Bounds
from cofit.models.columns_of_weights import Coef, Intercept, coef_of, lines_of
from cofit.models.decisions import (
    checked_threshold,
    one_of_several,
    refuse_threshold_of_several,
    second_class,
    warn_of_one_class,
)
from cofit.models.model_fields import checked_fields, refuse
from cofit.models.model_text import loaded, written_by
from cofit.models.planned import check_planned
from cofit.models.row_fields import read_rows, stated_rows
from cofit.models.scoring import prepared_rows, prepared_scores, scores_of
from cofit.models.smoothing import SmoothedScores, checked_smoothing, refuse_smoothed, smoothed_by
from cofit.models.target_range import TargetRange, refuse_threshold
from cofit.privacy.certificate import Certificate
from cofit.roles.files.durable import why_not_written
from cofit.roles.local.training import TrainingRun

VERSION = 4
KIND = "cofit linear model"
_STUDY_KIND = "cofit study model"  # of ``study_model``, which is above this
Reals = npt.NDArray[np.float64]
Label = str | int | float | bool

_FIELDS = (
    "loss", "classes", "coef", "intercept", "constant", "norm_floor", "rows", "shrinkage", "feature_names",
    "certificate",
)  # fmt: skip
_LATER = ("bounds", "target_range", "reference")


@dataclass(frozen=True, repr=False)
class LinearModel:
    """A released linear classifier, or a regressor.

    loss: its name. classes: two labels or more, of one type; of two a positive score means the 2nd; of a regressor
    none. coef: one weight for each feature, as released; of several classes a line of them for each. intercept: already
    multiplied by its constant. constant: the entry c of the intercept's column, 0.0 without one. norm_floor: the
    shortest length that a row is divided by, in units of the features; 0.0 where the owners normalised. rows: how
    recipe 'best' prepares a row; None with recipe 'paper'. shrinkage: the threshold for weights in predictions, in
    standard deviations of the noise (``shrunk``); 0.0 for the weights as they were released. feature_names: the names
    of the columns, if they have any. bounds: the public lower and upper bound of each column, where the model itself
    scales rows by them to [-1, 1]; None where whoever calls it does. target_range: of a regressor, the public range of
    what it predicts. smoothing: what ``smoothed`` made of the weights; None for a model as it was released. reference:
    the public map that rows went through in training, and go through here, before they are prepared.
    """

    loss: str
    classes: tuple[Label, ...]
    coef: Coef
    intercept: Intercept
    constant: float
    norm_floor: float
    feature_names: tuple[str, ...] | None
    certificate: Certificate
    rows: RowMap | None = None
    shrinkage: float = 0.0
    bounds: Bounds | None = None
    target_range: TargetRange | None = None
    smoothing: SmoothedScores | None = field(default=None, compare=False)
    reference: ReferenceMap | None = None

    def __post_init__(self) -> None:
        for name, value in checked_fields(self):
            object.__setattr__(self, name, value)

    @property
    def lines(self) -> int:
        """How many lines of weights there are: one, or one for each of several classes."""
        return lines_of(len(self.classes))

    @property
    def features(self) -> int:
        """How many features there are."""
        first = self.coef[0]
        return len(first) if isinstance(first, tuple) else len(self.coef)

    @property
    def inputs(self) -> int:
        """How many columns a row has: the features, or what a public reference maps to them."""
        return self.features if self.reference is None else self.reference.inputs

    def __repr__(self) -> str:
        target = f"classes {self.classes}" if self.target_range is None else f"a target in {list(self.target_range)}"
        return f"<LinearModel, {self.loss}, {self.features} features, {target}>"

    # --- from and to ------------------------------------------------------------------------------------

    @classmethod
    def from_training(
        cls,
        run: TrainingRun,
        classes: Sequence[Label],
        feature_names: Sequence[str] | None = None,
        target_range: TargetRange | None = None,
        reference: ReferenceMap | None = None,
    ) -> LinearModel:
        """Return the model of a training run whose labels 0 and 1 stood for ``classes``; of a real target, none, whose
        -1 and 1 were the ends of ``target_range``."""
        weights = run.weights.tolist()
        return cls.from_weights(run.plan, weights, run.certificate, classes, feature_names, target_range, reference)

    @classmethod
    def from_weights(
        cls,
        plan: Plan,
        weights: Sequence[float],
        certificate: Certificate,
        classes: Sequence[Label],
        feature_names: Sequence[str] | None = None,
        target_range: TargetRange | None = None,
        reference: ReferenceMap | None = None,
    ) -> LinearModel:
        """Return the model of what a training run by ``plan`` released: weights, intercept, level, centre.

        With the shrinkage that the release speaks for; ``shrunk(0)`` is the model without.
        """
        facts = plan.facts
        return cls(
            loss=facts.loss,
            classes=tuple(classes),
            coef=coef_of(weights, facts.cols, plan.target.outputs),
            **vars(plan.scoring(np.asarray(weights))),
            feature_names=None if feature_names is None else tuple(feature_names),
            certificate=certificate,
            target_range=target_range,
            reference=reference,
        )

    def again(self, plan: Plan, weights: Sequence[float]) -> LinearModel:
        """Return the model that these released numbers of its plan give, with what this one states of its columns."""
        names, reference = self.feature_names, self.reference
        return self.from_weights(plan, weights, self.certificate, self.classes, names, self.target_range, reference)

    def to_json(self) -> str:
        """Return the model and its certificate as JSON, version 4; bounds and target_range are left out if None."""
        refuse_smoothed(self)
        fields = {name: getattr(self, name) for name in _FIELDS}
        fields |= {name: getattr(self, name) for name in _LATER if getattr(self, name) is not None}
        fields["rows"] = None if self.rows is None else stated_rows(self.rows)
        if self.reference is not None:
            fields["reference"] = self.reference.to_dict()
        fields["certificate"] = json.loads(self.certificate.to_json())
        return json.dumps({"kind": KIND, "version": VERSION, **fields}, indent=2, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> LinearModel:
        """Read what ``to_json`` wrote, or raise InvalidInputError with the name of the field that is wrong.

        The certificate is rebuilt from its own facts, and every field compared (``learn.rebuild``).
        """
        try:
            fields = json.loads(text, object_pairs_hook=_object)
        except InvalidInputError:
            raise
        except (TypeError, ValueError, RecursionError) as error:
            raise parameter_error("text", "LinearModel.from_json", "a model in JSON", str(error)) from None
        if not isinstance(fields, dict):
            raise parameter_error("text", "LinearModel.from_json", "a JSON object", type(fields).__name__)
        kind = fields.pop("kind", None)
        if kind == _STUDY_KIND:
            raise InvalidInputError("This is the model of a study. Open it with cofit.load_model(path).")
        if kind != KIND:
            refuse("kind", f"'{KIND}'", "something else")
        version = fields.pop("version", None)
        if version != VERSION or isinstance(version, bool):
            refuse("version", f"{VERSION}, the version that this release can read{written_by(fields)}", version)
        for name in sorted(set(_FIELDS) - set(fields)):
            refuse(name, "stated", None)
        for name in sorted(set(fields) - {*_FIELDS, *_LATER}):
            refuse(name, f"left out, because version {VERSION} lacks it", fields[name])
        for name in ("classes", "coef", "feature_names"):
            if isinstance(fields[name], list):
                fields[name] = tuple(fields[name])
            elif name != "feature_names" or fields[name] is not None:
                refuse(name, "a list", fields[name])
        if fields["rows"] is not None:
            fields["rows"] = read_rows(fields["rows"])
        if not isinstance(fields["certificate"], dict):
            refuse("certificate", "a mapping", fields["certificate"])
        if fields.get("reference") is not None:
            fields["reference"] = ReferenceMap.from_dict(fields["reference"])
        fields["certificate"] = Certificate.from_json(json.dumps(fields["certificate"]))
        model = cls(**fields)
        check_planned(model)
        return model

    def save(self, path: str | Path) -> None:
        """Write ``to_json`` to a file, or raise InvalidInputError with the remedy."""
        text = self.to_json()
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise InvalidInputError(
                f"The model cannot be written to '{path}': {why_not_written(Path(path), error)}."
            ) from None

    @classmethod
    def load(cls, path: str | Path) -> LinearModel:
        """Read a file that ``save`` wrote."""
        return loaded(path, cls.from_json)

    # --- predictions ------------------------------------------------------------------------------------

    def decision_function(self, X: Any, *, smoothing: str | None = None) -> Reals:
        """Return the score of each row of X, shape (n,): positive for the second class. Of several classes one for
        each, shape (n, classes). X may be a sparse matrix of SciPy's: a few MiB of it are dense at a time.

        smoothing: 'batch' smooths the scores by the rows of X themselves, which influence each other's scores then
        (``smoothed``), and are dense all at once. None, the default: every row has a score of its own.
        """
        if not checked_smoothing(smoothing):
            return scores_of(self, X)
        prepared = prepared_rows(self, X)
        return prepared_scores(replace(self, smoothing=smoothed_by(self, prepared)), prepared)

    def predict(self, X: Any, *, threshold: float | None = None, smoothing: str | None = None) -> npt.NDArray[Any]:
        """Return the predicted class of each row of X: the second one where the score is above 0, or of several that
        with the largest score. Of a regressor, the predicted number, and no threshold.

        threshold: instead, the second class where its probability is above this one; without
        probabilities (``has_probabilities``), where the score is. Warns where 100 rows or more get one class only.
        smoothing: as in ``decision_function``.
        """
        scores = self.decision_function(X, smoothing=smoothing)
        if self.target_range is not None:
            refuse_threshold(threshold)
            return self.numbers(scores)
        places = self.places(scores, threshold)
        warn_of_one_class(places, self.classes)
        return np.asarray(self.classes)[places]

    def numbers(self, scores: Reals) -> Reals:
        """Return what a regressor predicts for rows with these scores, within the range of its target."""
        if self.target_range is None:
            raise InvalidInputError(f"A model with the loss '{self.loss}' predicts classes, and no numbers.")
        return loss_named(self.loss).target.predicted(scores, self.target_range)

    def predict_proba(self, X: Any, *, smoothing: str | None = None) -> Reals:
        """Return sigmoid(score) for each row of X as the second of two columns, and 1 minus that as the first.

        With recipe 'best' sigmoid(2 score). Of several classes that of each, over the sum of them. They rank rows, and
        are not calibrated risks: noise may make them more certain than they should be, and where one class is rare they
        are far less certain. smoothing: as in ``decision_function``.
        """
        return self.probabilities(self.decision_function(X, smoothing=smoothing))

    @property
    def largest_count(self) -> int | None:
        """What no count exceeds; None where the target is no count."""
        counted = self.target_range is not None and loss_named(self.loss).target.counted
        return int(self.target_range[1]) if self.target_range is not None and counted else None

    @property
    def has_probabilities(self) -> bool:
        """Whether there is a ``predict_proba``: the loss says so, and the logistic one does."""
        return loss_named(self.loss).probabilities(np.zeros(0)) is not None

    def probabilities(self, scores: Reals) -> Reals:
        """Return what ``predict_proba`` does, for rows with these scores."""
        found = loss_named(self.loss).probabilities(scores.ravel() * (1 if self.rows is None else 2))
        if found is None:
            raise InvalidInputError(f"A model with the loss '{self.loss}' has no probabilities. Use decision_function.")
        return found if scores.ndim == 1 else one_of_several(found[:, 1].reshape(scores.shape))

    def places(self, scores: Reals, threshold: float | None = None) -> npt.NDArray[np.intp]:
        """Return the place of the predicted class, among ``classes``, for rows with these scores; see ``predict``."""
        if self.target_range is not None:
            raise InvalidInputError(f"A model with the loss '{self.loss}' predicts numbers, and no classes.")
        if self.lines > 1:
            refuse_threshold_of_several(threshold)
            return np.asarray(scores.argmax(axis=1) if len(scores) else np.zeros(0, np.intp))
        limit = checked_threshold(threshold, probability=self.has_probabilities)
        likely = self.probabilities(scores)[:, 1] if limit is not None and self.has_probabilities else None
        return second_class(scores, likely, limit).astype(np.intp)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise in a weight, about: a public number of the certificate."""
        return self.certificate.noise_expected_norm / math.sqrt(self.certificate.d)

    @cached_property
    def weights(self) -> Reals:
        """What predictions use: ``coef`` after the threshold that ``shrinkage`` says."""
        weights = shrunk_weights(np.array(self.coef), self.shrinkage * self.deviation)
        weights.setflags(write=False)
        return weights

    def shrunk(self, noise_levels: float) -> LinearModel:
        """Return the model with a threshold for its weights, of ``noise_levels`` standard deviations of the noise.

        With that threshold t a weight w becomes w - t^2 / w, or 0 where it is smaller. ``shrunk(0)`` predicts with the
        weights as released. It uses the release and public numbers, so it costs no privacy. It helps where few columns
        matter, and hurts where many do. The intercept stays as it is, and ``coef`` too: whatever the shrinkage, it has
        the weights as released.
        """
        if isinstance(noise_levels, bool) or not isinstance(noise_levels, Real) or not 0 <= noise_levels < math.inf:
            raise parameter_error("noise_levels", "shrunk", "a number that is at least 0", noise_levels)
        if self.smoothing is not None:
            raise InvalidInputError("A smoothed model cannot be shrunk: shrink it first, then smooth it.")
        return replace(self, shrinkage=float(noise_levels))

    def smoothed(self, reference: Any) -> LinearModel:
        """Return the model with weights smoothed by unlabelled rows, which scores single rows.

        reference: rows like those to be scored, at least 20, better 100 and more; they have no labels. Where they vary
        little, released weights are mostly noise, and count less (``recipes.descent.smoothing``). It costs no privacy
        of the training records. The result contains the reference rows in its weights, without noise: it is not covered
        by the certificate and cannot be saved, and the reference must have no training rows unless the result stays
        with their owner. For two classes or several, of recipe 'best' with a delta above 0.
        """
        return replace(self, smoothing=smoothed_by(self, prepared_rows(self, reference)))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        name, count = Counter(name for name, _ in pairs).most_common(1)[0]
        refuse(name, "stated once", f"{count} times")
    return result
