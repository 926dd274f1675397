"""Studies on disk."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cofit.errors import InvalidInputError
from cofit.roles.files.studies import load_study
from cofit.study import study_plan
from cofit.transport import generate_identity
from support.pages import ROOT

EXAMPLES: list[str] = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/reference/study.md").read_text(), re.DOTALL)


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The reference's example study, with certificates beside it."""
    return write_study(tmp_path, EXAMPLES[0])


def write_study(folder: Path, text: str) -> Path:
    for name in set(re.findall(r'certificate = "(.*?)"', text)):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            path.write_text(generate_identity(path.stem).certificate_pem)
    (folder / "study.toml").write_text(text)
    return folder / "study.toml"


def not_loaded(path: Path) -> str:
    with pytest.raises(InvalidInputError) as info:
        load_study(path)
    return str(info.value)


def test_the_example_of_the_reference(example: Path) -> None:
    study = load_study(example)
    assert study.name == "heart-2026"
    assert study.data.rows == 7300
    assert len(study.weight_names) == 28
    assert study.parties[0].fingerprint == study.owners[0].fingerprint
    assert study_plan(study).proven


def test_the_vertical_variant_of_the_reference(tmp_path: Path) -> None:
    """The variant replaces [data] (but for the features) and the owners."""
    data, owners = EXAMPLES[1].split("[[owners]]", 1)
    text = re.sub(r"\[data\].*?(?=\[\[data.features)", data, EXAMPLES[0], flags=re.DOTALL)
    text = re.sub(r"\[\[owners\]\].*(?=\[\[analysts)", "[[owners]]" + owners, text, flags=re.DOTALL)
    study = load_study(write_study(tmp_path, text))
    assert [len(owner.columns) for owner in study.owners] == [5, 20]
    assert study_plan(study).facts.normalised_by == "parties"


def test_comments_and_places_do_not_change_the_hash(example: Path, tmp_path: Path) -> None:
    before = load_study(example).hash
    text = example.read_text().replace("certificates/", "other/").replace("epsilon = 1.0", "epsilon = 1.00 # a comment")
    (tmp_path / "certificates").rename(tmp_path / "other")
    example.write_text(text)
    assert load_study(example).hash == before
    example.write_text(text.replace(":7100", ":7101"))
    assert load_study(example).hash != before


def test_features_in_a_schema_file(example: Path) -> None:
    before = load_study(example).hash
    text = example.read_text()
    features = "".join(re.findall(r"\[\[data\.features\]\]\n.*?(?=\n\[|\n\n)", text, re.DOTALL))
    (example.parent / "schema.toml").write_text(re.sub(r"\[\[data\.features\]\]", "\n\n[[features]]", features))
    without = re.sub(r"\[\[data\.features\]\]\n.*?(?=\[compute)", "", text, flags=re.DOTALL)
    example.write_text(without.replace('row_key = "patient"', 'row_key = "patient"\nschema = "schema.toml"'))
    assert load_study(example).hash == before
    (example.parent / "schema.toml").write_text("features = []\nother = 1\n")
    assert "schema.toml: a schema file holds tables [[features]] and nothing else" in not_loaded(example)
    (example.parent / "schema.toml").unlink()
    assert "The schema must be a file that exists" in not_loaded(example)
    example.write_text(text.replace('row_key = "patient"', 'row_key = "patient"\nschema = "schema.toml"'))
    assert "either in [[data.features]] or in a file" in not_loaded(example)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("epsilon = 1.0", "epsilon = 1,0", r"not valid TOML: .*line 10.*with a decimal point, as in 1\.5\.$"),
        ("epsilon = 1.0", "epsilon = 1 0", r"not valid TOML: .*line 10, column \d+\)\.$"),
        ("epsilon = 1.0", "epsilon = ", r"study.toml is not valid TOML: .*line 10"),
        ("epsilon = 1.0", "epsilon = 1.0\nepsilon = 0.2", r"not valid TOML: .*line"),
        ("epsilon = 1.0", "epsilon = -1", r"study.toml: The 'privacy.epsilon' parameter"),
        ("recipe =", "l2 = 0.1\nrecipe =", r"study.toml: .*'model.l2'.*recipe = 'paper'"),
        (
            "certificates/registry.pem",
            "absent.pem",
            r"parties\[2\].certificate must be a file that exists. .*absent.pem",
        ),
        ("certificates/registry.pem", "study.toml", r"'parties\[2\].certificate'.*X.509"),
        ("certificates/registry.pem", "certificates", r"must be a file that exists"),
    ],
)
def test_broken_studies(example: Path, old: str, new: str, message: str) -> None:
    example.write_text(example.read_text().replace(old, new, 1))
    assert re.search(message, not_loaded(example), re.DOTALL)


def test_a_missing_certificate_is_told_with_the_study_once(example: Path) -> None:
    example.write_text(example.read_text().replace("certificates/registry.pem", "absent.pem", 1))
    told = not_loaded(example)
    assert told.startswith(f"{example}: The file of parties[2].certificate must be a file that exists.")
    assert told.count("study.toml") == 1


def test_a_private_key_in_place_of_a_certificate_is_told_and_not_shown(example: Path) -> None:
    key = generate_identity("registry").private_key_pem
    (example.parent / "certificates" / "registry.key").write_text(key)
    example.write_text(example.read_text().replace("certificates/registry.pem", "certificates/registry.key", 1))
    told = not_loaded(example)
    assert "'parties[2].certificate'" in told and "probably 'certificates/registry.pem'" in told
    assert "has a private key" in told and "makes a new key" in told
    assert key.splitlines()[1] not in told


def test_files_that_are_no_study(tmp_path: Path) -> None:
    assert "The study must be a file that exists" in not_loaded(tmp_path / "absent.toml")
    (tmp_path / "latin.toml").write_bytes(b"format = 1\nname = '\xe9'\n")
    assert "line 2 is not UTF-8" in not_loaded(tmp_path / "latin.toml")
    large = tmp_path / "large.pem"
    large.write_bytes(b" " * (1 << 17))
    text = EXAMPLES[0].replace("certificates/registry.pem", "large.pem")
    (tmp_path / "certificates").mkdir()
    path = write_study(tmp_path, text.replace("large.pem", "certificates/registry.pem"))
    path.write_text(text)
    assert "at most 65536 bytes" in not_loaded(path)
