r"""A public reference: rows without labels, nobody's secret, from which all owners know how rows vary before training.

**What.** m reference rows, prepared as recipe 'best' prepares rows (less half of their own mean, length 1), have the
mean u and the covariance C. Every row x of every owner is prepared likewise, to z, and mapped:

    x' = (z - u) A,    A = K (K + lambda)^-1,    K = n [(1/2) C + (1/2) (tr C / d) I],    lambda = (2/10) / t

with n the records of the study and t = (steps) times (step): the time of the descent. x' is then a row of d columns as
any other: it is divided by its length, and the steps begin. Along a direction in which rows hardly vary a step learns
little in time t, and what it learns is noise (``smoothing``); A makes such directions short *before* the rows are
brought to length 1, so that the length, which privacy is paid for, is spent on directions that matter. Half of K is the
same for all directions, because few rows do not show all of them.

*Directions only*: x' = (z - u) V^T F, with the k eigenvectors V of C that have a variance and their factors F alone:
k < m columns in place of d, and noise and traffic of k columns.

**Privacy**: reference_proof.md. The map is a public function of one record.

**Files.** A map is its mean, directions and variances, as 32-bit numbers that everybody has alike, and n, lambda; its
SHA-256 is a fact of the plan, of the study and of the certificate. A map made again from the same rows on another
machine may differ in its last digits, unless it is made reproducibly, as those of tables that studies name are.

The constants were chosen on five data sets; what it brings, and loses: docs/explanation/unlabelled-rows.md.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError, parameter_error
from cofit.learn.recipes.descent.budget import STEPS, spend
from cofit.learn.recipes.descent.public_map import MOST_CELLS, PublicMap, public_map
from cofit.learn.recipes.descent.reproducible import decomposed, prepared_exactly, spread_rows
from cofit.learn.recipes.descent.row_map import RowMap

Reals = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]

CUT = 0.2
"""lambda, times the time of the descent."""
SAME = 0.5
"""The part of K that is the same for all directions."""
FEWEST_ROWS, FEW_ROWS = 20, 50
MOST_DIRECTIONS = 512
_LEAST_VARIANCE = 1e-9  # of rows of length 1, and beside the largest one: less is rounding
_BLOCK = 1 << 20
_SAME_CUT = 0.01
_FORMAT = "cofit reference 1"
_MOST_RECORDS = 1 << 40
_FIELDS = ("mean", "directions", "variances", "isotropic", "records", "cut", "only")
_OWNER = "a reference"


@dataclass(frozen=True, repr=False, eq=False)
class ReferenceMap:
    """mean: u. directions: V, one in a row. variances: of the reference along them. isotropic: tr C / d. records: n.
    cut: lambda. only: whether x' has the directions alone."""

    mean: Singles
    directions: Singles
    variances: Singles
    isotropic: float
    records: int
    cut: float
    only: bool = False

    def __post_init__(self) -> None:
        shapes = [array.ndim for array in (self.mean, self.directions, self.variances)]
        if shapes != [1, 2, 1] or self.directions.shape != (len(self.variances), len(self.mean)):
            raise InvalidInputError("The mean, directions and variances of a reference do not fit together.")
        numbers = (self.mean, self.directions, self.variances, self.isotropic, self.cut)
        if not all(np.isfinite(part).all() for part in numbers) or not len(self.variances):
            raise InvalidInputError("A reference must have a direction, and all its numbers must be finite.")
        if self.variances.min() < 0 or self.isotropic < 0 or not self.cut > 0 or not 2 <= self.records <= _MOST_RECORDS:
            raise InvalidInputError("A reference has no negative variances, a positive cut, and 2 to 2^40 records.")

    def __repr__(self) -> str:
        return f"<ReferenceMap, {self.inputs} columns to {self.columns}, {self.hash[:12]}>"

    def __str__(self) -> str:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReferenceMap) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)

    @property
    def inputs(self) -> int:
        """How many columns it maps."""
        return len(self.mean)

    @property
    def columns(self) -> int:
        """How many columns it maps them to."""
        return len(self.variances) if self.only else self.inputs

    @cached_property
    def hash(self) -> str:
        """SHA-256 of all numbers of the map."""
        digest = hashlib.sha256(_FORMAT.encode())
        settings = [self.directions.shape, self.isotropic.hex(), self.records, self.cut.hex(), self.only]
        digest.update(json.dumps(settings).encode())
        for array in (self.mean, self.directions, self.variances):
            digest.update(np.ascontiguousarray(array, dtype="<f4").tobytes())
        return digest.hexdigest()

    def __call__(self, values: npt.ArrayLike) -> Reals:
        """Return rows mapped, shape (n, columns): no longer than 2 each."""
        x = np.asarray(values, dtype=np.float64)
        if x.ndim != 2 or x.shape[1] != self.inputs:
            raise parameter_error("X", _OWNER, f"a table with {self.inputs} columns", f"shape {x.shape}")
        return self._mapped(prepared(x))

    def by_parties(self, values: npt.ArrayLike, bound: float, floor: float) -> Reals:
        """Return rows mapped as parties do that hold shares of columns (``public_map``): x' / a, where a row shorter
        than floor, in units of the bound, is not stretched to length 1 before. Up to rounding."""
        rows = RowMap("l2", bound, floor)(np.asarray(values, dtype=np.float64))
        return self._mapped(rows) / float(self.factors[0].max())

    def for_scores(self, values: npt.ArrayLike, bound: float, floor: float) -> Reals:
        """Return rows mapped as they were in training. bound, floor: those of the rows' ``RowMap``; a floor of 0 where
        the owners mapped them."""
        return self.by_parties(values, bound, floor) if floor else self(values)

    def _mapped(self, rows: Reals) -> Reals:
        apart = rows - self.mean
        along = apart @ self.directions.T.astype(np.float64)
        factors, others = self.factors
        if self.only:
            return np.asarray(along * factors)
        return np.asarray(others * apart + (along * (factors - others)) @ self.directions)

    @property
    def factors(self) -> tuple[Reals, float]:
        """What A keeps of every direction, and of all others."""
        same = self.records * SAME * self.isotropic
        strength = self.records * (1 - SAME) * self.variances.astype(np.float64) + same
        return strength / (strength + self.cut), same / (same + self.cut)

    def made_for(self, epsilon: float | Fraction, delta: float | Fraction) -> bool:
        """Return whether it was made for this budget: with another one it keeps more or less than is best, and costs
        accuracy alone."""
        return math.isclose(self.cut, _cut(self.records, self.inputs, epsilon, delta), rel_tol=_SAME_CUT)

    @cached_property
    def public(self) -> PublicMap:
        """The map in whole numbers, for parties."""
        mean, directions = self.mean.astype(np.float64), self.directions.astype(np.float64)
        return public_map(self.hash, mean, directions, *self.factors, only=self.only)

    def in_blocks(self, rows: Any) -> Reals:
        """Return the same of a table that is dense a block of rows at a time, as sparse ones are."""
        step = max(1, _BLOCK // self.inputs)
        blocks = [self(rows[start : start + step]) for start in range(0, len(rows), step)]
        return np.concatenate([np.zeros((0, self.columns)), *blocks])

    # --- from and to ------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return plain arrays, for a file."""
        return {name: np.asarray(getattr(self, name)) for name in _FIELDS}

    @classmethod
    def from_arrays(cls, found: Mapping[str, npt.NDArray[Any]]) -> ReferenceMap:
        """Return the map of what ``arrays`` gave, or raise InvalidInputError."""
        kinds = {"records": "iu", "only": "b"}
        if set(found) != set(_FIELDS) or any(found[name].dtype.kind not in kinds.get(name, "f") for name in _FIELDS):
            raise InvalidInputError(f"A reference map holds the arrays {list(_FIELDS)}; `cofit reference` makes one.")
        if any(found[name].ndim for name in _FIELDS[3:]) or found["directions"].size > MOST_CELLS:
            raise InvalidInputError(
                f"A reference map has single numbers, and at most {MOST_CELLS:,} in its directions."
            )
        mean, directions, variances = (np.asarray(found[name], dtype=np.float32) for name in _FIELDS[:3])
        return cls(
            mean,
            directions,
            variances,
            isotropic=float(found["isotropic"]),
            records=int(found["records"]),
            cut=float(found["cut"]),
            only=bool(found["only"]),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it in JSON's types: 32-bit numbers in base64, others as text in hexadecimal digits."""
        lists = {name: _text(getattr(self, name)) for name in _FIELDS[:3]}
        plain = {"isotropic": self.isotropic.hex(), "records": self.records, "cut": self.cut.hex(), "only": self.only}
        return {"format": _FORMAT, **lists, **plain, "hash": self.hash}

    @classmethod
    def from_dict(cls, stated: Any) -> ReferenceMap:
        """Return the map of what ``to_dict`` gave, or raise InvalidInputError."""
        if not isinstance(stated, dict) or set(stated) != {"format", "hash", *_FIELDS} or stated["format"] != _FORMAT:
            raise parameter_error("reference", "a model", f"a mapping of the format '{_FORMAT}'", "something else")
        try:
            lists = [np.frombuffer(base64.b64decode(stated[name], validate=True), "<f4") for name in _FIELDS[:3]]
            numbers = [float.fromhex(stated[name]) for name in ("isotropic", "cut")]
            shaped = lists[1].reshape(len(lists[2]), len(lists[0]))
        except (TypeError, ValueError):
            raise parameter_error("reference", "a model", "numbers as they were written", "something else") from None
        if type(stated["records"]) is not int or type(stated["only"]) is not bool:
            raise parameter_error("reference", "a model", "with a whole number of records and a flag", "something else")
        found = cls(lists[0], shaped, lists[2], numbers[0], stated["records"], numbers[1], stated["only"])
        if found.hash != stated["hash"]:
            raise parameter_error("reference.hash", "a model", f"{found.hash}, that of its numbers", stated["hash"])
        return found


def reference_map(
    rows: npt.ArrayLike,
    records: int,
    *,
    epsilon: float | Fraction,
    delta: float | Fraction,
    directions_only: bool = False,
    reproducible: bool = False,
) -> ReferenceMap:
    """Return the map of public reference rows, for a study of so many records with this budget.

    rows: the columns as owners will hand them in; at least 20 rows, better 50 and more. They must be public: whoever
    has the map, and that is everybody, learns how they vary. directions_only: as in the module's text. reproducible:
    the same map to the last digit on every machine, slower and perhaps of fewer rows (``reproducible``).
    """
    x = np.asarray(rows)
    if x.ndim != 2 or x.dtype.kind not in "biuf" or not np.isfinite(x).all():
        raise parameter_error("rows", _OWNER, "a table of finite numbers", f"{x.dtype} of shape {x.shape}")
    if len(x) < FEWEST_ROWS:
        must_be = f"at least {FEWEST_ROWS} rows (better {FEW_ROWS} and more): fewer do not show how rows vary"
        raise parameter_error("rows", _OWNER, must_be, f"{len(x)} rows")
    mean, variances, directions = _decomposed(np.asarray(x, dtype=np.float64), reproducible)
    total = math.fsum(variances)
    most = min(MOST_DIRECTIONS, MOST_CELLS // x.shape[1], len(x) - 1)
    kept = (variances > _LEAST_VARIANCE * variances[0]) & (np.arange(len(variances)) < most)
    if not total > _LEAST_VARIANCE or not kept.any():
        raise parameter_error("rows", _OWNER, "rows that differ from each other", "rows that are all alike")
    signs = np.sign(directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)])[:, np.newaxis]
    return ReferenceMap(
        mean.astype(np.float32),
        (signs * directions)[kept].astype(np.float32),
        variances[kept].astype(np.float32),
        isotropic=total / x.shape[1],
        records=records,
        cut=_cut(records, x.shape[1], epsilon, delta),
        only=directions_only,
    )


def _cut(records: int, columns: int, epsilon: float | Fraction, delta: float | Fraction) -> float:
    """Return lambda."""
    budget = spend(records, columns, Fraction(epsilon), Fraction(delta), ranges=False)
    return CUT / (float(budget.pace) * STEPS)


def _decomposed(x: Reals, reproducible: bool) -> tuple[Reals, Reals, Reals]:
    """Return the mean of the prepared rows, and variances and directions, the strongest first."""
    if reproducible:
        return decomposed(prepared_exactly(spread_rows(x)))
    z = prepared(x)
    mean = z.mean(axis=0)
    values, directions = np.linalg.svd((z - mean) / np.sqrt(len(z)), full_matrices=False)[1:]
    return mean, np.square(values), directions


def prepared(x: Reals) -> Reals:
    """Return rows less half of their own mean, at length 1."""
    return RowMap("l2", 1.0, 0.0)(x)


def _text(array: Singles) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode()
