"""The table of costs of ``shamir``: what its docstring says is what it publishes, and what its messages are.

Rounds are messages that follow from one another (``Views.depth``).
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, PowerOfTwoRing
from cofit.arithmetic.prg import SEED_BYTES
from cofit.sharing import Scheme, Share, meter_of
from cofit.sharing.inputs import DIGEST_BYTES
from cofit.sharing.shamir import party as module
from cofit.sharing.shares import PlacedBits
from support.runs import run_scheme
from support.schemes import also_slow, form
from support.views import watched

N = 128  # two words of bits
FORMS = ["shamir", "shamir/4", "shamir/5", "shamir/7", "shamir/5/1"]
EVERY = also_slow([name + route for name in FORMS for route in ("", "/king")], "shamir/6", "shamir/6/1/king")


def vector(s: Scheme, ring: PowerOfTwoRing) -> Share:
    return s.constant(ring, ring.zeros((N,)))


Operation = Callable[[Scheme, PowerOfTwoRing], object]
OPERATIONS: dict[str, Operation] = {
    "input by a party": lambda s, r: s.input(1, r.zeros((N,)) if s.rank == 1 else None, r, (N,)),
    "open to all": lambda s, r: s.open(vector(s, r)),
    "product of any kind": lambda s, r: s.mul(vector(s, r), vector(s, r)),
    "truncation, and any": lambda s, r: s.mul(vector(s, r), vector(s, r), 5, vector(s, r)),
    "fresh sharing": lambda s, r: s.refresh(vector(s, r)),
    "random bits (Boolean)": lambda s, r: s.boolean.random(1, N),
    "bit -> ring element": lambda s, r: s.from_bits(s.boolean.random(1, N), r),
    "high part": lambda s, r: s.high_part(vector(s, r), 7),
}


def measured(name: str, work: Callable[[Scheme], object]) -> tuple[int, int]:
    """Rounds, and bytes of all parties."""

    def program(s: Scheme) -> None:
        work(s)

    with watched() as views:
        run = run_scheme(name, program)
    return views.depth(), run.everything().bytes_sent


class Formulas:
    """What the text above the table says, for one form."""

    def __init__(self, name: str) -> None:
        spec = form(name).spec
        self.n, self.t, self.king = spec.parties, spec.threshold, spec.route == "king"
        self.g = self.n - self.t - 1
        self.p = 2 * self.t + self.g if self.king else (2 * self.t + 1) * self.g
        self.hop = 2 if self.king else 1

    def elements(self) -> dict[str, int]:
        """Ring elements for each result."""
        n, t, g = self.n, self.t, self.g
        bit = 1 if t == 1 else t * g + (t - 2) * self.p + t
        wraps = {1: 1, 2: (3 + 1) * (t * g + t), 3: 4 * bit}[t]
        return {
            "input by a party": g,
            "open to all": n * t,
            "product of any kind": self.p,
            "truncation, and any": wraps + t + (t + 1) * (t + g),
            "fresh sharing": (t + 1) * g,
            "random bits (Boolean)": 0,
            "bit -> ring element": bit + (t + 1) * g,
            "high part": (t + 1) * g,
        }

    def words(self) -> dict[str, int]:
        """Words of bits for 64 results, besides."""
        wraps = 10 * self.t * self.g + 36 * self.p + 4 * self.t * (self.t + 1) if self.t == 3 else 0
        return {"truncation, and any": wraps, "bit -> ring element": self.t * (self.t + 1)}

    def rounds(self) -> dict[str, int]:
        t = self.t
        return {
            **dict.fromkeys(("input by a party", "open to all", "fresh sharing", "high part"), 1),
            "product of any kind": self.hop,
            "truncation, and any": t + 1 if t < 3 else 3 + 3 * self.hop,
            "random bits (Boolean)": 0,
            "bit -> ring element": t + 1 if t < 3 else 3 + self.hop,
        }


@pytest.mark.parametrize("name", EVERY)
def test_messages_cost_what_the_formulas_say(name: str) -> None:
    formulas = Formulas(name)
    for i, (operation, work) in enumerate(OPERATIONS.items()):
        ring = (Z64, Z128)[i % 2]
        rounds, sent = measured(name, lambda s, work=work, ring=ring: work(s, ring))  # type: ignore[misc]
        words = formulas.words().get(operation, 0)
        assert sent == formulas.elements()[operation] * N * ring.element_bytes + words * N // 8, operation
        assert rounds <= formulas.rounds()[operation], operation
        if not (formulas.king and formulas.t == 3):  # where maskers need not wait for the one party
            assert rounds == formulas.rounds()[operation], operation


@pytest.mark.parametrize("name", EVERY)
def test_published_costs_are_those_of_the_formulas(name: str) -> None:
    formulas = Formulas(name)
    for operation, work in OPERATIONS.items():
        meter = meter_of(*form(name))
        work(meter, Z64)
        words = formulas.words().get(operation, 0)
        assert meter.tally.bytes == formulas.elements()[operation] * N * 8 + words * N // 8, operation
        assert meter.tally.rounds == formulas.rounds()[operation], operation


# --- the table -------------------------------------------------------------------------------------------

_NUMBERS = re.compile(r"(\d+, \d+, \d+|^\d)(?: \(([\d, ]+)\))?")
TABLE = re.search(r"    operation .*?\n\n", module.__doc__ or "", re.S)
COLUMNS = {"rounds": slice(28, 41), "elements": slice(41, None)}
USUAL = ("shamir", "shamir/5", "shamir/7")


def documented(operation: str, column: str) -> dict[str, int]:
    """What the table says for three, five and seven parties, and through one party where it is in brackets."""
    assert TABLE is not None
    (row,) = (line for line in TABLE[0].splitlines() if line.strip().startswith(operation))
    direct, through = _NUMBERS.findall(row[COLUMNS[column]])[-1]
    numbers = [int(number) for number in direct.split(", ")]
    said = dict(zip(USUAL, numbers * (3 // len(numbers)), strict=True))
    kings = [int(number) for number in through.split(", ") if number] * (3 if len(numbers) == 1 else 1)
    return said | {f"{name}/king": king for name, king in zip(USUAL[3 - len(kings) :], kings, strict=True)}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_docstring_has_these_numbers(operation: str) -> None:
    for name, elements in documented(operation, "elements").items():
        assert Formulas(name).elements()[operation] == elements, name
    for name, rounds in documented(operation, "rounds").items():
        assert Formulas(name).rounds()[operation] == rounds, name


def test_words_of_bits_in_the_docstring() -> None:
    """For seven parties, in words of 64 bits for one result, rounded."""
    assert TABLE is not None
    said = re.findall(r"t = 3: (\d+) words more, of bits \((\d+)\)", TABLE[0])
    values = {"truncation": (10, 36, 4), "number": (7, 24, 2)}
    for (direct, king), (dealt, products, opened) in zip(said, values.values(), strict=True):
        for text, product in ((direct, 21), (king, 9)):
            words = dealt * 9 + products * product + opened * 12
            assert round(words / 64) == int(text)


# --- owners, numbers and the setup -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["shamir", "shamir/4", "shamir/5", "shamir/5/1", "shamir/7"])
def test_an_owner_sends_one_summand_in_full_and_seeds_for_the_rest(name: str) -> None:
    spec, values = form(name).spec, Z64.zeros((50, 3))

    def program(s: Scheme) -> None:
        s.receive_input("owner", Z64, values.shape).expand()

    run = run_scheme(name, program, deal={"x": (Z64, values)})
    group, groups = spec.parties - spec.threshold, len(meter_of(*form(name))._target_inputs.layout(Z64, (1,)))
    assert run.owner is not None
    assert run.owner.total.bytes_sent == group * values.nbytes + (groups - 1) * group * SEED_BYTES
    assert run.everything().bytes_sent == spec.parties * (spec.parties - 1) * DIGEST_BYTES


NUMBERS = {"shamir": 4, "shamir/5": 26, "shamir/7": 81, "shamir/7/king": 57}


@pytest.mark.parametrize("name", NUMBERS)
def test_elements_of_numbers_from_their_digits(name: str) -> None:
    """The elements of the table: what two rings take differs by them alone, as everything else are words of bits."""

    def work(s: Scheme, ring: PowerOfTwoRing) -> None:
        s.from_numbers([PlacedBits(0, s.boolean.random(9, N))], ring)

    (_, narrow), (_, wide) = (measured(name, lambda s, r=ring: work(s, r)) for ring in (Z64, Z128))  # type: ignore[misc]
    assert wide - narrow == NUMBERS[name] * N * 8
    assert documented("number -> ring element", "elements")[name] == NUMBERS[name]


@pytest.mark.parametrize("name", ["shamir", "shamir/4", "shamir/5", "shamir/7"])
def test_the_setup_sends_a_seed_for_every_pair_and_group_to_every_other_member(name: str) -> None:
    with watched() as views:
        run_scheme(name, lambda s: None)
    spec = form(name).spec
    sent = sum(len(views.of(f"party-{rank}", "setup")) for rank in range(spec.parties))
    costs = form(name).kind.costs(spec)
    assert sent == costs.setup_bytes
    assert costs.setup_rounds == 1


def test_linear_maps_and_random_bits_are_free() -> None:
    def work(s: Scheme) -> None:
        a = vector(s, Z64)
        s.add(s.mul_public(a, Z64.from_int(np.array(3))), s.neg(a))
        s.boolean.xor(s.boolean.random(2, N), s.boolean.random(2, N))

    assert measured("shamir/5", work) == (0, 0)
