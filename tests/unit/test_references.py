"""docs/references.bib is well formed, and has every source that a module or a page names by author and year."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIB = ROOT / "docs" / "references.bib"
TEXTS = sorted(
    path
    for folder, ending in (("src", "py"), ("src", "md"), ("docs", "md"))
    for path in (ROOT / folder).rglob(f"*.{ending}")
)
CITED = re.compile(r"\b(?:[A-Z][A-Za-z]+|al\.),? \(?(?P<year>(?:19|20)\d\d)(?=[),.;:])")
"""A name or a venue before a year: "Box and Muller 1958)", "Trefethen (2013)", "NIPS 2011, proposition 4"."""
BEFORE = 220
"""How many characters before the year hold the authors, and the title that may stand between them and a venue."""
RFC = re.compile(r"\bRFC (\d+)")


@dataclass(frozen=True)
class Entry:
    """One source: its key, its year, the surname of its first author, its number if it is an RFC."""

    key: str
    year: str
    surname: str
    number: str | None


def entries() -> list[Entry]:
    found = []
    for key, body in re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", BIB.read_text(), re.MULTILINE | re.DOTALL):
        fields = dict(re.findall(r"^  (\w+) *= \{(.*)\},?$", body, re.MULTILINE))
        assert {"author", "title", "year"} <= set(fields), key
        surname = re.sub(r"[{}\\']", "", fields["author"].split(",")[0])
        found.append(Entry(key, fields["year"], plain(surname), fields.get("number") if "type" in fields else None))
    return found


def plain(text: str) -> str:
    """Without accents, in single spaces."""
    decomposed = unicodedata.normalize("NFD", text)
    return re.sub(r"\s+", " ", "".join(c for c in decomposed if not unicodedata.combining(c)))


def missing(text: str, known: list[Entry]) -> list[str]:
    """The sources that a text names and that are not known."""
    text = plain(text)
    lost = []
    for cited in CITED.finditer(text):
        authors = text[max(0, cited.start() - BEFORE) : cited.end()]
        if not any(entry.year == cited["year"] and entry.surname in authors for entry in known):
            lost.append(text[max(0, cited.start() - 60) : cited.end()])
    numbers = {entry.number for entry in known}
    return lost + [f"RFC {number}" for number in RFC.findall(text) if number not in numbers]


def test_every_source_that_is_named_is_listed() -> None:
    known = entries()
    lost = {str(path.relative_to(ROOT)): found for path in TEXTS if (found := missing(path.read_text(), known))}
    assert not lost


def test_every_entry_is_read_and_has_a_key_of_its_own() -> None:
    keys = [entry.key for entry in entries()]
    assert len(keys) == BIB.read_text().count("\n@") > 0
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    "text", ["(Nobody and Else, ICML 2018, theorem 8)", "Trefethen (2014)", "Box and\nMuller 1959,", "RFC 9999"]
)
def test_a_source_that_is_not_listed_is_noticed(text: str) -> None:
    assert missing(text, entries())


@pytest.mark.parametrize("text", ["Box and\nMuller 1958)", 'Canonne, Kamath, "The Discrete Gaussian", NeurIPS 2020)'])
def test_a_source_that_is_listed_is_found(text: str) -> None:
    assert not missing(text, entries())
