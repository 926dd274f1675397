"""What the private linear estimators have in common: scikit-learn's ways, with settings for parameters."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from cofit.errors import PlanWarning, parameter_error
from cofit.learn.asked import SETTINGS, TrainingSettings
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent.reference import ReferenceMap
from cofit.learn.unlike_scales import scale_warnings
from cofit.models.feature_columns import refuse_other_than_numbers, without_values
from cofit.models.linear_model import LinearModel
from cofit.models.progress_display import progress_context
from cofit.models.referenced import mapped_tables
from cofit.models.sample_weights import with_sample_weights
from cofit.models.settings import AUTO, check_shrinkage, stated_parameters
from cofit.models.tables import Tables, refuse_below, refuse_beyond
from cofit.roles.local.progress import Progress
from cofit.roles.local.training import TrainingRun, run_training

REHEARSAL = "this is a rehearsal: one program on one machine started everybody and held all of the data"


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateLinearEstimator(TrainingSettings, BaseEstimator):  # type: ignore[misc]
    """What the estimators share: everything but the target, and the loss, which a subclass names in ``_loss``; in
    ``_loss_of_descent`` that of noisy descent, where it is another one.

    Its parameters are the settings of a training run, and those below, of which ``LogisticRegression`` tells.
    """

    _loss: ClassVar[str]
    _loss_of_descent: ClassVar[str | None] = None

    shrinkage: float | str = AUTO
    parties: int | None = None
    processes: bool = False
    threads: int | None = None
    state: str | Path | None = None
    timeout: float = 60.0
    progress: bool | Callable[[Progress], None] | None = None

    def fit(self, owners: Any, y: Any = None, sample_weight: Any = None, *, partition: str = "horizontal") -> Self:
        """Train on the joint data and release the noisy weights, once.

        Parameters
        ----------
        owners : list, mapping or matrix
            Horizontal: a list of (X, y) pairs, or a mapping from owner to (X, y), with the same columns. Vertical: a
            list or mapping of column blocks with the same rows. With ``y``, and horizontal: the matrix of one owner,
            or a list or mapping of matrices.
        y : labels or targets, default=None
            One owner's, or with partition='vertical' those of the owner 'label-owner'; for a list or mapping
            of matrices a list or mapping of theirs.
        sample_weight : weights, default=None
            How much each record counts, from 0 to ``weight_bound``, which must be set; in the form of ``y``: of one
            owner an array, for a list or mapping of owners a list or mapping of arrays.
        partition : {'horizontal', 'vertical'}, default='horizontal'
            Whether the owners hold rows or columns.

        Returns
        -------
        self
        """
        name = type(self).__name__
        check_shrinkage(self.shrinkage, name)
        given = with_sample_weights(self._tables(owners, y, partition), sample_weight, self.weight_bound, name)
        facts = {fact: getattr(self, fact) for fact in SETTINGS}
        facts["pure_steps"] = True if self.pure_steps is None else self.pure_steps
        if (reference := self._reference(given)) is not None:
            given = mapped_tables(given, reference, partition)
            facts["reference"] = reference.hash
            facts["reference_inputs"] = reference.inputs if partition == "vertical" else None
        loss = self._chosen_loss()
        facts |= self._facts_of_target()
        classes = max(2, len(given.classes))
        asked = training_facts(given.rows, given.cols, partition=partition, loss=loss, classes=classes, **facts)
        plan = plan_training(asked.among(self.parties))
        if plan.facts.normalised_by == "parties":
            refuse_beyond(given, float(plan.facts.feature_bound), vertical=partition == "vertical")
            if partition == "vertical" and plan.facts.feature_lower > -plan.facts.feature_bound:
                refuse_below(given, float(plan.facts.feature_lower), float(plan.facts.feature_bound))
        for unlike in scale_warnings(
            [] if given.reference is not None and partition == "horizontal" else given.features,
            given.feature_names,
            vertical=partition == "vertical",
            bound=float(plan.facts.feature_bound) if plan.facts.normalised_by == "parties" else None,
            whole_rows=plan.penalty is None and plan.floor is None and plan.facts.row_limit is None,
            limit=plan.facts.cut_length,
        ):
            warnings.warn(unlike, UserWarning, stacklevel=2)
        for poor in plan.warnings:
            warnings.warn(f"{poor.rstrip('.')}.", PlanWarning, stacklevel=2)
        with progress_context(self.progress, name) as listener:
            run = run_training(
                plan,
                given.owners,
                parties=self.parties,
                processes=self.processes,
                threads=self.threads,
                state=self.state,
                timeout=self.timeout,
                progress=listener,
                warnings=(REHEARSAL, *self._caveats(given)),
                reference=reference.public if reference is not None and partition == "vertical" else None,
            )
        self.plan_ = plan
        self.openings_ = run.run.openings
        self.traffic_ = run.run.traffic
        model = self._model(run, given)
        self._take(model if self.shrinkage == AUTO else model.shrunk(float(self.shrinkage)), given)
        return self

    def save(self, path: str | Path) -> None:
        """Write the model and its certificate to a file, as JSON. ``load`` and ``cofit.load_model`` read it."""
        check_is_fitted(self)
        self.model_.save(path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return a fitted estimator from a file that ``save`` wrote.

        Its parameters are those that the certificate states, and the defaults otherwise; predictions have the shrinkage
        of the file (``model_.shrinkage``). What belongs to the run and
        not to the model (``plan_``, ``openings_``, ``traffic_``) is not in the file; the certificate lists the
        openings.
        """
        model = LinearModel.load(path)
        losses = [loss for loss in (cls._loss_of_descent, cls._loss) if loss is not None]
        if model.loss not in losses:
            must_be = "a model with the loss " + " or ".join(map(repr, losses))
            raise parameter_error("path", f"{cls.__name__}.load", must_be, model.loss)
        estimator = cls(**cls._stated(model))
        estimator._take(model, None)
        return estimator

    def _chosen_loss(self) -> str:
        """Return the loss to train with."""
        return self._loss_of_descent if self._descends and self._loss_of_descent is not None else self._loss

    @property
    def _descends(self) -> bool:
        """Whether the loss is that of noise in every step, which is Gaussian: not with delta = 0."""
        return self.recipe == "best" and self.delta != 0

    @classmethod
    def _stated(cls, model: LinearModel) -> dict[str, Any]:
        """Return the parameters that a model states."""
        return stated_parameters(model)

    @abstractmethod
    def _tables(self, owners: Any, y: Any, partition: str) -> Tables:
        """Return what ``fit`` was given, checked."""

    @abstractmethod
    def _model(self, run: TrainingRun, given: Tables) -> LinearModel:
        """Return the model of a run."""

    def _facts_of_target(self) -> dict[str, Any]:
        """Return the facts of the target that are no settings."""
        return {}

    def _reference(self, given: Tables) -> ReferenceMap | None:
        """Return the public map to apply to all rows; None: there is none."""
        del given
        return None

    def _caveats(self, given: Tables) -> tuple[str, ...]:
        """Return what the certificate is to say of how it was asked for."""
        del given
        return ()

    def _take(self, model: LinearModel, given: Tables | None) -> None:
        """Become fitted. given: what ``fit`` was; None where the model comes from a file."""
        del given
        self.model_ = model
        self.certificate_ = model.certificate
        self.n_iter_ = model.certificate.epochs
        self.n_features_in_ = model.inputs
        if model.feature_names is not None:
            self.feature_names_in_ = np.array(model.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        refuse_other_than_numbers(X, "X")
        if hasattr(X, "column_names"):  # Arrow, whose names scikit-learn does not see: the model compares them
            return X
        return without_values(
            "X", lambda: validate_data(self, X, reset=False, accept_sparse="csr", ensure_all_finite=False)
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.sparse = True
        return tags
