"""From a study document (what TOML holds) to a ``Study``: strict, with defaults filled in.

Unknown, missing and repeated entries, wrong types, values out of range and parts that do not fit together are an
InvalidInputError that names the field by its path, as in ``data.features[3].lower``, the value and the remedy. The
numbers of the plan are checked by ``training_facts`` itself, so that study and plan cannot differ in what they admit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from cofit.errors import InvalidInputError
from cofit.learn import division
from cofit.learn.asked import PAPER_DEFAULTS
from cofit.learn.facts import (
    DEFAULT_DELTA,
    DEFAULT_NORM_FLOOR,
    NUMBER_NORM_FLOOR,
    PARAMETERS,
    PARTITIONS,
)
from cofit.learn.losses import kinds, loss_named
from cofit.learn.recipes.descent.reference import ReferenceMap
from cofit.learn.recipes.descent.shares import SHARED
from cofit.learn.recipes.minimiser.settings import INITIALS, SOLVERS
from cofit.learn.settings import RECIPES, WHO_SCALES
from cofit.learn.targets import MOST_CLASSES, Target
from cofit.privacy.mechanisms import MECHANISMS
from cofit.privacy.objective import SENSITIVITIES
from cofit.sharing import SCHEMES
from cofit.study.crosschecks import check_identities, check_owners, check_parties, check_reference, check_shards
from cofit.study.document import FORMAT, AnalystEntry, Compute, Data, Model, Privacy, Study, Value
from cofit.study.features import FEATURE_FIELDS, column_name, parse_features, parse_values
from cofit.study.fields import OWNER, Table, field_error
from cofit.study.parse_release import WITHOUT_NOISE, parse_clients, parse_release
from cofit.study.participants import (
    ROLE_FIELDS,
    parse_dealer,
    parse_owners,
    parse_parties,
    participant_name,
    participants,
)
from cofit.study.plan import study_facts
from cofit.units import bytes_in

_DOCUMENT = (
    "format", "name", "model", "privacy", "data", "compute", "parties", "owners", "analysts", "dealer", "release",
    "clients",
)  # fmt: skip
_MODEL_OF_PAPER = tuple(one.name for one in fields(Model) if one.name in PAPER_DEFAULTS)
_MODEL = ("kind", "recipe", "intercept", "calibrate_intercept", "class_weights", *_MODEL_OF_PAPER)
_PRIVACY = ("epsilon", "delta", "pure_steps", "budget_shares", "mechanism", "sensitivity")
_DATA = (
    "partition", "label", "label_values", "normalised_by", "norm_floor", "row_nonzeros", "row_key", "unmatched", "rows",
    "clip_rows", "label_range", "weight", "weight_bound", "reference",
    "reference_directions",
    "ignore_extra", "schema", "features",
)  # fmt: skip
_COMPUTE = ("scheme", "threshold", "latency", "memory", "shards", "timeout", "connect_timeout", "checkpoint_epochs")
_LONGEST_TIMEOUT = 7 * 24 * 3600.0
_LONGEST_LATENCY = 1.0
_SECTION_OF_FACT = {
    one.name: section
    for section, kind in (("model", Model), ("privacy", Privacy), ("data", Data), ("compute", Compute))
    for one in fields(kind)
    if one.name in PARAMETERS
}


def parse_study(
    document: Mapping[str, Any],
    certificates: Mapping[str, str],
    references: Mapping[str, tuple[ReferenceMap, str | None]] | None = None,
) -> Study:
    """Return the study that ``document`` describes, or raise InvalidInputError.

    certificates: the certificate (PEM) for every text under ``certificate`` in the document. references: the map for
    the text under ``data.reference``, if there is one, with the hash of the table that it was made from; None where the
    text names a map.
    """
    top = Table(document, "", _DOCUMENT)
    if top.raw("format", must_be=str(FORMAT)) != FORMAT or isinstance(top.raw("format"), bool):
        raise field_error("format", f"{FORMAT}, the only format that this release of cofit reads", top.raw("format"))
    data_table = top.table("data", _DATA)
    model = _model(top.table("model", _MODEL))
    reference, reference_table = _reference(data_table, references or {})
    data = replace(_data(data_table, model), reference=reference, reference_table=reference_table)
    owners = parse_owners(top.tables("owners", ROLE_FIELDS["owners"]), certificates, data)
    analysts = participants(top.tables("analysts", ROLE_FIELDS["analysts"]), certificates)
    release = parse_release(top, model, data)
    study = Study(
        name=participant_name("name", top.raw("name", must_be="the name of the study")),
        model=model,
        privacy=_privacy(top.table("privacy", _PRIVACY), model.recipe) if release.noise else WITHOUT_NOISE,
        data=check_owners(data, owners, stated="rows" in data_table),
        compute=_compute(top.table("compute", _COMPUTE)),
        parties=parse_parties(top.tables("parties", ROLE_FIELDS["parties"]), certificates),
        owners=owners,
        analysts=tuple(AnalystEntry(*analyst) for analyst in analysts),
        dealer=parse_dealer(top, certificates),
        release=release,
        clients=parse_clients(top, certificates, release),
    )
    check_reference(study)
    check_parties(study)
    check_identities(study)
    check_shards(study)
    _check_facts(study)
    return study


def _reference(
    table: Table, references: Mapping[str, tuple[ReferenceMap, str | None]]
) -> tuple[ReferenceMap | None, str | None]:
    """Return the map that the data section names, and the hash of its table; None where it names none."""
    found: tuple[ReferenceMap | None, str | None] = None, None
    if "reference" in table:
        name = table.text("reference")
        if name not in references:
            raise field_error(table.at("reference"), "a file of public rows, or of `cofit reference`", name)
        found = references[name]
    if table.boolean("reference_directions", False) and found[1] is None:
        must_be = "left out unless data.reference is a table of rows: a map says itself what it keeps"
        raise field_error(table.at("reference_directions"), must_be, True)
    return found


def _model(table: Table) -> Model:
    recipe = table.text("recipe", "best", choices=RECIPES)
    paper = recipe == "paper"
    if not paper:
        table.absent(_MODEL_OF_PAPER, "recipe 'best' has no such choice; leave it out, or set recipe = 'paper'")
    return Model(
        kind=table.text("kind", choices=kinds()),
        recipe=recipe,
        intercept=table.boolean("intercept", True),
        calibrate_intercept=table.boolean("calibrate_intercept", False),
        **(_of_paper(table) if paper else dict.fromkeys(_MODEL_OF_PAPER)),
        class_weights=_class_weights(table),
    )


def _class_weights(table: Table) -> tuple[float, ...] | None:
    """Return a number for each class, if there are any; that they are as many as the classes is checked with these."""
    if "class_weights" not in table:
        return None
    of = "numbers above 0, one for each of the label's values in their order"
    given = table.items("class_weights", of=of)
    if any(isinstance(v, bool) or not isinstance(v, int | float) or not math.isfinite(v) for v in given):
        raise field_error(table.at("class_weights"), f"a list of {of}", given)
    return tuple(float(v) for v in given)


def _of_paper(table: Table) -> dict[str, Any]:
    """Return the settings of recipe 'paper', with their defaults; l2 is to be chosen."""
    epochs = table.raw("epochs", PAPER_DEFAULTS["epochs"])
    if epochs != "auto":
        if isinstance(epochs, str):
            raise field_error(table.at("epochs"), "'auto' or a whole number, without quotation marks", epochs)
        epochs = table.integer("epochs")
    numbers = ("intercept_scaling", "momentum", "tolerance")
    return {
        **{name: table.number(name, PAPER_DEFAULTS[name]) for name in numbers},
        "l2": table.number("l2"),
        "epochs": epochs,
        "solver": table.text("solver", PAPER_DEFAULTS["solver"], choices=SOLVERS),
        "learning_rate": table.number("learning_rate") if "learning_rate" in table else None,
        "initial": table.text("initial", PAPER_DEFAULTS["initial"], choices=INITIALS),
        "allow_unproven": table.boolean("allow_unproven", PAPER_DEFAULTS["allow_unproven"]),
    }


def _privacy(table: Table, recipe: str) -> Privacy:
    paper = recipe == "paper"
    delta = table.number("delta", 0.0 if paper else DEFAULT_DELTA)
    if not paper:
        table.absent(["mechanism", "sensitivity"], "recipe 'best' chooses; leave it out, or set model.recipe = 'paper'")
    return Privacy(
        epsilon=table.number("epsilon"),
        delta=delta,
        mechanism=table.text("mechanism", "gaussian" if delta > 0 else "knorm", choices=MECHANISMS) if paper else None,
        sensitivity=table.text("sensitivity", "tight", choices=SENSITIVITIES) if paper else None,
        budget_shares=_shares(table),
        pure_steps=_pure_steps(table, paper=paper, delta=delta),
    )


def _pure_steps(table: Table, *, paper: bool, delta: float) -> bool | None:
    if paper or delta:
        table.absent(["pure_steps"], "it is for model.recipe = 'best' with privacy.delta = 0; leave it out")
    return table.boolean("pure_steps", False) if "pure_steps" in table else None


def _shares(table: Table) -> tuple[tuple[str, float], ...]:
    if "budget_shares" not in table:
        return ()
    shares = table.table("budget_shares", SHARED)
    chosen = tuple((name, shares.number(name)) for name in SHARED if name in shares)
    if not chosen:
        raise field_error(shares.path, f"left out, or a table with shares of {list(SHARED)}", {})
    return chosen


def _data(table: Table, model: Model) -> Data:
    """Return the data section; ``rows`` is 0 where it is to be summed up from the owners."""
    recipe, target = model.recipe, loss_named(kinds()[model.kind]).target
    partition = table.text("partition", choices=PARTITIONS)
    vertical = partition == "vertical"
    table.absent(["schema"], "the features of the schema file must stand in its place (load_study does that)")
    if not vertical:
        table.absent(["unmatched"], "rows are matched in vertical studies only")
    by = None
    if "normalised_by" in table or recipe == "paper":
        by = table.text("normalised_by", "parties" if vertical else "owners", choices=WHO_SCALES)
    if vertical and "row_key" not in table:
        must_be = "stated in a vertical study: the column by which all owners' rows are matched"
        raise field_error(table.at("row_key"), must_be, None)
    features = parse_features(table.tables("features", FEATURE_FIELDS))
    taken = {feature.name for feature in features}
    special = {}
    for name in ("label", "row_key", "weight"):
        if name in table or name == "label":
            special[name] = column_name(table.at(name), table.raw(name, must_be="the name of a column"))
            if special[name] in taken:
                raise field_error(
                    table.at(name),
                    "another column than the features, the label, the key and the weight",
                    table.raw(name),
                )
            taken.add(special[name])
    label_values, label_range = _label(table, model.kind, target)
    return Data(
        partition=partition,
        rows=table.integer("rows") if vertical or "rows" in table else 0,
        label=special["label"],
        label_values=label_values,
        normalised_by=by,
        norm_floor=table.number("norm_floor", float(NUMBER_NORM_FLOOR if target.ranged else DEFAULT_NORM_FLOOR)),
        clip_rows=table.boolean("clip_rows", False) if "clip_rows" in table else None,
        row_nonzeros=table.integer("row_nonzeros") if "row_nonzeros" in table else None,
        row_key=special.get("row_key"),
        unmatched=table.text("unmatched", "refuse", choices=("refuse", "drop")) if vertical else None,
        ignore_extra=table.boolean("ignore_extra", False),
        features=features,
        label_range=label_range,
        weight=special.get("weight"),
        weight_bound=_weight_bound(table),
    )


def _weight_bound(table: Table) -> float | None:
    """Return the bound of the records' weights, which goes with the name of their column."""
    for name, other in (("weight", "weight_bound"), ("weight_bound", "weight")):
        if name in table and other not in table:
            raise field_error(table.at(other), f"stated, because {name} is", None)
    return table.number("weight_bound") if "weight_bound" in table else None


def _label(table: Table, kind: str, target: Target) -> tuple[tuple[Value, ...], tuple[float, float] | None]:
    """Return the classes of the label, or none and the range of its numbers."""
    if not target.ranged:
        table.absent(["label_range"], f"the label of a model of kind '{kind}' has classes: label_values")
        return parse_values(table, "label_values", (str, int, bool), most=MOST_CLASSES), None
    table.absent(["label_values"], f"the label of a model of kind '{kind}' is a number: give label_range")
    lower, upper = _pair(table, "label_range", "the lower end of what the label can be and the upper one")
    must_be = target.refused_range(lower, upper)
    if must_be is not None:
        example = "[0, 40]" if target.counted else "[0, 400]"
        raise field_error(table.at("label_range"), f"{must_be}, as in {example}", table.raw("label_range"))
    return (), (lower, upper)


def _pair(table: Table, name: str, what: str) -> tuple[float, float]:
    """Return two numbers of a list."""
    given = table.raw(name, must_be=f"a list of two numbers: {what}")
    sound = isinstance(given, list) and len(given) == 2
    if not sound or any(isinstance(v, bool) or not isinstance(v, int | float) or not math.isfinite(v) for v in given):
        raise field_error(table.at(name), f"a list of two numbers: {what}", given)
    return float(given[0]), float(given[1])


def _compute(table: Table) -> Compute:
    return Compute(
        scheme=table.text("scheme", choices=sorted(SCHEMES)),
        timeout=table.number("timeout", 60.0, 1.0, _LONGEST_TIMEOUT),
        connect_timeout=table.number("connect_timeout", 60.0, 1.0, _LONGEST_TIMEOUT),
        checkpoint_epochs=table.integer("checkpoint_epochs") if "checkpoint_epochs" in table else None,
        threshold=table.integer("threshold") if "threshold" in table else None,
        latency=table.number("latency", least=0.0, most=_LONGEST_LATENCY) if "latency" in table else None,
        memory=_memory(table) if "memory" in table else None,
        shards=_shards_of_rows(table) if "shards" in table else None,
    )


def _memory(table: Table) -> int:
    try:
        return bytes_in(table.text("memory"))
    except InvalidInputError:
        must_be = "a size in quotation marks, as in '1 GB' or '512 MB'"
        raise field_error(table.at("memory"), must_be, table.raw("memory")) from None


def _shards_of_rows(table: Table) -> int:
    """Return among how many shards the parties divide their rows; that every owner has as many is checked later."""
    try:
        return division.check_shards(table.raw("shards"))
    except InvalidInputError:
        must_be = f"a whole number from 1 to {division.MOST_SHARDS}, or left out: then a party is one process"
        raise field_error(table.at("shards"), must_be, table.raw("shards")) from None


def _check_facts(study: Study) -> None:
    """Let the plan judge its numbers, and name the field of the study where it refuses one."""
    try:
        study_facts(study)
    except InvalidInputError as error:
        found = re.match(r"The '(\w+)' parameter of a plan ", str(error))
        if found is not None and found[1] == "classes":
            must_be = "two classes unless model.recipe is 'best' and privacy.delta is above 0 (for example 1e-6)"
            raise field_error("data.label_values", must_be, list(study.data.label_values)) from None
        if found is None or found[1] not in _SECTION_OF_FACT:
            raise InvalidInputError(f"The study cannot be planned: {error}") from None
        path = f"{_SECTION_OF_FACT[found[1]]}.{found[1]}"
        raise type(error)(f"The '{path}' parameter of {OWNER} {str(error)[found.end() :]}") from None
