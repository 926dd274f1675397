"""Sizes and durations for people: short, in one unit, and never with an exponent."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofit.errors import InvalidInputError
from cofit.units import bytes_in, duration, size

_FACTORS = {"byte": 1, "bytes": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15}
_SECONDS = {"ms": 1e-3, "s": 1, "min": 60, "h": 3600, "days": 86400}


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1_000, "1 kB"),
        (1_664, "1.66 kB"),
        (999_499, "999 kB"),
        (999_500, "1 MB"),
        (12_800_000, "12.8 MB"),
        (237_000_000_000, "237 GB"),
        (70_080_300_000_000, "70.1 TB"),
        (10**20, "100000 PB"),
    ],
)
def test_sizes(count: int, shown: str) -> None:
    assert size(count) == shown


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1 GB", 10**9),
        ("512MB", 512 * 10**6),
        ("1.5 GiB", 3 << 29),
        ("900 kb", 900_000),
        (" 7 B ", 7),
        ("2TiB", 2 << 40),
        ("9" * 400 + " GB", (10**400 - 1) * 10**9),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, count: int) -> None:
    assert bytes_in(text) == count


@pytest.mark.parametrize("text", ["", "1", "GB", "1 PB", "-1 GB", "1,5 GB", "1 GB more", "nan GB"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"is no size: write a number and a unit, as in '1 GB'"):
        bytes_in(text)


def test_a_table_of_measurements_has_one_digit_more() -> None:
    assert size(112_745_000, digits=4) == "112.7 MB"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "not known"),
        (0.0, "0 s"),
        (1e-6, "below 0.01 ms"),
        (0.0001, "0.1 ms"),
        (0.0031, "3.1 ms"),
        (0.1, "0.1 s"),
        (0.12, "0.12 s"),
        (9.94, "9.9 s"),
        (75.8, "76 s"),
        (119.4, "119 s"),
        (120, "2 min"),
        (960, "16 min"),
        (1_000, "17 min"),
        (7_199, "120 min"),
        (7_200, "2.0 h"),
        (35_687, "9.9 h"),
        (131_391, "36.5 h"),
        (172_799, "48.0 h"),
        (172_800, "2.0 days"),
        (10_000_000, "115.7 days"),
    ],
)
def test_durations(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


@given(st.integers(0, 10**19))
def test_a_size_is_near_what_it_stands_for(count: int) -> None:
    number, unit = re.fullmatch(r"([0-9.,]+) ([a-zA-Z]+)", size(count)).groups()  # type: ignore[union-attr]
    assert float(number.replace(",", "")) * _FACTORS[unit] == pytest.approx(count, rel=0.006)
    assert len(number.replace(".", "").strip("0")) <= 3 or unit == "PB"


@given(st.floats(1e-5, 1e9))
def test_a_duration_is_near_what_it_stands_for(seconds: float) -> None:
    number, unit = re.fullmatch(r"([0-9.,]+) ([a-z]+)", duration(seconds)).groups()  # type: ignore[union-attr]
    assert float(number.replace(",", "")) * _SECONDS[unit] == pytest.approx(seconds, rel=0.051)
