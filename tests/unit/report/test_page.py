"""The page: what it says of whom, in which order, escaped, complete, the same bytes every time."""

from __future__ import annotations

import html
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from cofit.experiments.result import Curve, Figure, Row, TableResult
from cofit.learn.rebuild import rebuilt_plan
from cofit.models.linear_model import LinearModel
from cofit.models.study_model import StudyModel
from cofit.report.accuracy_forecast import NoForecast
from cofit.report.cost import Cost, PhaseCost
from cofit.report.noise_law import noise_law
from cofit.report.page import ReportInput, render_report
from cofit.report.plots import expected_counts
from cofit.report.significance import published_weights
from cofit.report.words import guess, verdict, who_could_read_everything
from unit.cli.study_models import model_of
from unit.report.models import DESCENTS, FORECAST, MECHANISMS, descended, planned, released
from unit.study.studies import study_of

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u202e\x00"
TABLE = TableResult(
    name="table1",
    title="Accuracy of private training",
    data="made-up claims",
    columns=("eps = 1", "paper"),
    rows=(
        Row("cofit", (Figure(0.9, "accuracy", 0.01), Figure(0.88, "accuracy"))),
        Row(
            "averages", (Figure(0.7, "accuracy"), Figure(None, "text", text="not stated")), guaranteed=False, note="why"
        ),
    ),
    notes=("Five folds.",),
    curves=(Curve("cofit", (0.1, 1.0, 10.0), (0.6, 0.8, 0.9), (0.1, 0.1, 0.0)),),
    axes=("epsilon", "accuracy"),
    facts={},
)


class Page(HTMLParser):
    """Tags, attributes and the text of a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        self.words.append(" " if tag in ("td", "th") else "")
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


def page_of(model: LinearModel | StudyModel, **given: Any) -> str:
    return render_report(ReportInput(**{"model": model, "forecast": FORECAST, **given}))


@pytest.mark.parametrize(
    ("mechanism", "scheme"),
    [
        *((mechanism, "rep3") for mechanism in MECHANISMS),
        *(("knorm", scheme) for scheme in ("semi2k", "rep4", "repn", "clear")),
    ],
)
def test_every_mechanism_and_scheme(mechanism: str, scheme: str) -> None:
    model = released(planned(mechanism=mechanism, scheme=scheme))
    certificate = model.certificate
    source = page_of(model)
    text = Page(source).text
    assert " ".join(certificate.headline.split()) in text
    for name in (*certificate.parties, *certificate.dealers, *certificate.owners, certificate.plan_hash):
        assert name in text
    assert (
        html.escape(certificate.to_text(), quote=True).replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in source
    )
    for assumption in certificate.assumptions:
        assert assumption in text
    assert "it costs no privacy" in text
    assert "This is about the privacy noise only." in text
    assert ("could read all" in text) == (scheme == "clear")
    assert ("showed them to nobody" in text) == (scheme != "clear")
    assert ("holds random shares" in text) == (scheme != "clear")
    assert len(source) < 1_500_000


@pytest.mark.parametrize("kind", DESCENTS)
def test_noisy_descent_is_shown_and_not_judged(kind: str) -> None:
    model = descended(**DESCENTS[kind])
    certificate = model.certificate
    assert model.rows is not None
    source = page_of(model)
    text = Page(source).text
    assert " ".join(certificate.headline.split()) in text
    assert "These weights are not judged." in text
    assert "later steps answer to the noise of the earlier ones" in text
    for claim in ("p, noise alone", "out from the noise", "stands out", "95% interval", "Holm", "None of"):
        assert claim not in text
    level = certificate.noise_expected_norm / math.sqrt(certificate.d)
    assert f"The noise level of one weight is about {level:.3g}." in text
    assert f"by the rule “{certificate.rule}”" in text
    assert "best: noisy descent" in text
    assert ("Level" in text) == (model.rows.level is not None)
    assert ("length of the noisy mean of all scaled rows" in text) == (model.rows.centre is not None)
    shown = re.findall(r'<td class="number">([^<]*)</td><td><div class="interval-cell">', source)
    values = sorted(abs(float(one.replace("\N{MINUS SIGN}", "-"))) for one in shown)
    assert values == pytest.approx(sorted(np.abs(published_weights(model)[0])), abs=0.06 * level)


@pytest.mark.parametrize(
    ("kind", "title"), [("clipped", "Logistic regression of "), ("no intercept", "Linear support vector machine of ")]
)
def test_the_title_is_short_and_the_line_below_it_exact(kind: str, title: str) -> None:
    model = descended(**DESCENTS[kind])
    page = page_of(model)
    assert f"<h1><bdi>{title}" in page
    exact = html.escape(model.certificate.model[1:])
    assert "(" in exact and f"{exact}, released" in page


def test_a_shrinkage_is_told() -> None:
    model = descended(**DESCENTS["owners, centred"])
    assert "moved towards 0" not in Page(page_of(model.shrunk(0))).text
    text = Page(page_of(model.shrunk(1.25))).text
    left = np.count_nonzero(model.shrunk(1.25).weights)
    assert f"1.25 predictions use the {left} of 5 weights that exceed so many" in text


def test_releases_of_noisy_descent_by_hand() -> None:
    """In units of their grids, steps with equal noise in one line, as many numbers as the certificate says."""
    model = descended(**DESCENTS["level, centred"])
    releases = model.certificate.releases
    source = page_of(model)
    table = source[source.index('<table class="releases">') :]
    rows = re.findall(r'<th scope="row">(.*?)</th>(.*?)</tr>', table[: table.index("</table>")])
    assert [name for name, _ in rows[:3]] == ["level", "centre", "step 1 to 15"]
    assert [name for name, _ in rows[3:]] == [f"step {t}" for t in range(16, 21)]
    cells = re.findall(r'<td class="number">(.*?)</td>', rows[0][1])
    step = 2.0 ** int(releases[0].grid[2:])
    assert cells == ["1", f"{float(releases[0].sensitivity) * step:.4g}", f"{float(releases[0].scale) * step:.4g}"]
    assert float(cells[1]) == pytest.approx(1.25, rel=1e-3)  # (2 + 0.5) / 2, the width of the range over the bound
    assert re.findall(r'<td class="number">(.*?)</td>', rows[2][1])[0] == "6"


@pytest.mark.parametrize("given", [{}, {"clip_rows": False}])
def test_the_records_that_a_useful_model_needs(given: dict[str, Any]) -> None:
    model = descended(epsilon=3.0, **given)
    plan = rebuilt_plan(model.certificate)
    assert plan is not None
    assert f"a useful model needs about {plan.rows_needed:,}" in Page(page_of(model)).text
    few = descended(rows=12, epsilon=0.5, **given)
    assert "12 rows with 5 columns are few" in Page(page_of(few)).text
    paper = planned(rows=40, epsilon=0.2)
    assert f"a useful model needs about {paper.rows_needed:,}" in Page(page_of(released(paper))).text


def test_both_kinds_of_models() -> None:
    study = study_of(name="heart trial")
    model = model_of(study, {"age": 2.0}, intercept=0.5)
    text = Page(page_of(model)).text
    assert "heart trial" in text
    assert study.hash in text
    assert "group=x" in text
    plain = Page(page_of(model.model)).text
    assert "heart trial" not in plain
    assert "Logistic regression of owner-a and owner-b" in plain


def test_the_same_bytes_every_time() -> None:
    model = released(planned())
    assert page_of(model, experiments=(TABLE,)) == page_of(model, experiments=(TABLE,))


def test_what_is_wrong_comes_first() -> None:
    model = released(planned(learning_rate=0.5, momentum=0.9, epochs=3, allow_unproven=True, scheme="clear"))
    assert not model.certificate.proven
    text = Page(page_of(model)).text
    warning = text.index("NOT A PROVEN GUARANTEE")
    assert text.index("NO SECRECY") < warning < text.index("What was done")
    assert text.index(f"Warning: {model.certificate.warnings[0]}") < text.index("What was done")
    assert "it is not proven that it is enough" in text
    assert verdict(model.certificate).label == "No secrecy: for testing only. Not a proven guarantee"
    assert 'class="statement bad"' in page_of(model)


def test_bounds_of_columns_are_shown_also_without_a_study() -> None:
    model = released(planned())
    assert "Columns that the owners agreed on" not in Page(page_of(model)).text
    names = tuple(f"column {i}" for i in range(len(model.coef)))
    text = Page(page_of(replace(model, feature_names=names, bounds=((18.0, 98.5),) * len(names)))).text
    assert "column 3 number 18 to 98.5; values beyond are moved to the end" in text


def test_the_attackers_chance_by_hand() -> None:
    """e / (1 + e) = 0.73106; at delta = 1 everything is lost; never rounded down."""
    assert guess(1.0, 0.0) == "73.2%"
    assert guess(1e-9, 0.0) == "50.1%"
    assert guess(math.log(3), 0.2) == "80.0%"
    assert guess(1.0, 1.0) == guess(1000.0, 0.0) == "100.0%"


@pytest.mark.parametrize(
    ("scheme", "readers"),
    [
        ("rep3", ["Any 2 of the 3 computing parties"]),
        ("rep4", ["Any 2 of the 4 computing parties"]),
        ("repn", ["Any 2 of the 3 computing parties"]),
        ("semi2k", ["Both computing parties together", "The dealer ('dealer'), together with any one computing party"]),
        ("clear", ["Every computing party, alone"]),
    ],
)
def test_who_could_read_everything(scheme: str, readers: list[str]) -> None:
    found = who_could_read_everything(released(planned(scheme=scheme)).certificate)
    assert len(found) == len(readers)
    assert all(one.startswith(start) for one, start in zip(found, readers, strict=True))


def test_names_of_other_people_are_text() -> None:
    visible = ATTACK.replace("\u202e", "").replace("\x00", "")
    model = released(
        planned(),
        names=(ATTACK, *"bcde"),
        owners=(visible, "clinic-b"),
        parties=("party-a", visible + "p", "party-c"),
        classes=(ATTACK, "yes"),
        signal=5.0,
    )
    table = replace(
        TABLE,
        title=ATTACK,
        data=ATTACK,
        columns=(ATTACK, ATTACK),
        notes=(ATTACK,),
        axes=(ATTACK + "\ud800", visible),
        rows=(replace(TABLE.rows[0], label=ATTACK, note=ATTACK),),
        curves=(replace(TABLE.curves[0], label=ATTACK),),
    )
    cost = Cost("a", "b", visible, (visible,), (PhaseCost(visible, 1, 1, 1.0),))
    source = page_of(model, experiments=(table,), cost=cost, measured=True, notes=(ATTACK,))
    page = Page(source)
    assert {"script", "img", "iframe", "object", "embed", "link", "form", "input"}.isdisjoint(
        tag for tag, _ in page.tags
    )
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert "<script>alert(1)</script>" in page.text
    assert "\u202e" not in source
    assert "\x00" not in source
    source.encode()


def test_the_certificate_is_shown_whole() -> None:
    owners = {f"hospital-number-{i:03d}": {"features": (3, 4), "labels": (3,)} for i in range(300)}
    model = released(planned(900, 3), owners=("a", "b"), assumptions=("<b>bold</b>",))
    model = replace(model, certificate=replace(model.certificate, owners=owners))
    page = render_report(ReportInput(model=model, forecast=FORECAST))
    assert "Hash of the plan" in page
    assert "<b>bold" not in page
    assert html.unescape(page).count(model.certificate.to_text()) == 2


def test_characters_that_cannot_be_written() -> None:
    source = page_of(released(planned(), names=("a\ud800b", *"bcde")))
    assert "a\N{REPLACEMENT CHARACTER}b" in source
    source.encode()


def test_nothing_is_loaded_and_nothing_runs() -> None:
    page = Page(page_of(released(planned()), experiments=(TABLE,)))
    policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    for tag, attributes in page.tags:
        for name in ("src", "href", "xlink:href", "srcset", "action", "data"):
            assert (attributes.get(name) or "#").startswith("#"), tag
    style = (files("cofit.report") / "templates" / "report.css").read_text()
    assert "url(" not in style
    assert "@import" not in style


def test_structure_for_those_who_do_not_see_it() -> None:
    page = Page(page_of(released(planned()), experiments=(TABLE,)))
    assert ("html", {"lang": "en"}) in page.tags
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    plots = [a for tag, a in page.tags if tag == "svg" and a.get("class") == "plot"]
    assert len(plots) == 3
    assert all(a.get("role") == "img" and len(a.get("aria-label") or "") > 40 for a in plots)
    assert sum(tag == "figcaption" for tag, _ in page.tags) == 3
    ids = [a["id"] for _, a in page.tags if a.get("id")]
    assert len(set(ids)) == len(ids)
    targets = {(a.get("href") or "")[1:] for _, a in page.tags if a.get("href")}
    assert targets <= set(ids)


def test_cost_measured_forecast_and_none() -> None:
    model = released(planned())
    cost = Cost("a", "b", "rep3", ("x", "y"), (PhaseCost("share", 2, 1500, 0.5), PhaseCost("train", 3, 2500, 1.5)))
    measured = Page(page_of(model, cost=cost, measured=True)).text
    assert "Measured in the run" in measured
    assert "total 5 4 kB 2 s" in measured
    assert "Not measured: the forecast of the plan" in Page(page_of(model, cost=cost)).text
    assert "No cost was recorded with this model" in Page(page_of(model)).text


def test_no_forecast_says_why() -> None:
    text = Page(page_of(released(planned()), forecast=NoForecast("No forecast was made: too large."))).text
    assert "No forecast was made: too large." in text
    assert "not a measurement" not in text


@pytest.mark.parametrize(("given", "rows"), [(False, "made-up rows"), (True, "a sample")])
def test_every_sentence_with_a_forecast_says_of_which_rows(given: bool, rows: str) -> None:
    source = page_of(released(planned()), forecast=replace(FORECAST, given=given))
    text = Page(source).text
    assert f"A forecast on {rows}, not a measurement." in text
    assert f"On {rows}, not on the owners' records: 80.0% at the released epsilon" in text
    assert f"Simulated with {rows}: median" in text
    assert f'aria-label="Forecast accuracy on {rows} against epsilon' in source


def test_experiments_are_shown_with_what_has_no_guarantee() -> None:
    model = released(planned())
    text = Page(page_of(model, experiments=(TABLE, replace(TABLE, curves=())))).text
    for words in ("Accuracy of private training", "Data: made-up claims", "90.0 ± 1.0 %", "not stated", "Five folds."):
        assert words in text
    assert text.count("averages without this guarantee") == 2
    assert "Experiments" not in Page(page_of(model)).text


def test_many_weights_are_cut_and_counted() -> None:
    model = released(planned(4000, 200, "gaussian"), signal=9.0)
    text = Page(page_of(model)).text
    assert "The 40 largest of 201 weights" in text
    assert "1 of 201 weights stands out from the noise" in text
    assert "None of 6 weights stands out" in Page(page_of(released(planned(), seed=3))).text


def test_numbers_of_any_size_are_readable() -> None:
    model = released(planned(10**6, 3, "gaussian", l2=100.0))
    rows = re.findall(r'<td class="number">([^<]*)</td><td><div class="interval-cell">', page_of(model))
    shown = sorted(abs(float(row.replace("\N{MINUS SIGN}", "-"))) for row in rows)
    assert shown == pytest.approx(sorted(np.abs(published_weights(model)[0])), rel=0.01)
    huge = replace(model, coef=(1e30, *model.coef[1:]))
    assert "column 1" in page_of(huge)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_curve_over_the_weights_counts_what_noise_gives(mechanism: str) -> None:
    """Against draws, for bars that are narrow and bars that are wide beside the noise."""
    law = noise_law(released(planned(cols=30, mechanism=mechanism)).certificate)
    draws = law.draw(30_000, np.random.default_rng(4))[:, 0]
    for width in (0.2 * law.deviation, 20 * law.deviation):
        x, expected = expected_counts(law, len(draws), 30 * law.deviation, width)
        for place in (0.0, 1.5 * law.deviation):
            i = int(np.abs(x - place).argmin())
            found = (np.abs(draws - x[i]) <= width / 2).sum()
            assert abs(found - expected[i]) < 6 * math.sqrt(expected[i])
    assert expected.max() <= len(draws) * (1 + 1e-9)
