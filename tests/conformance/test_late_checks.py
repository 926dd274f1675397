"""Checks that are put off: made before anything is opened or exported, counted exactly, and terminal when they fail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cofit.arithmetic import FixedPoint
from cofit.errors import ProtocolError
from cofit.protocols import divide, sigmoid
from cofit.secret import Party, SecretArray
from cofit.sharing import Scheme
from cofit.sharing.meter import Meter
from cofit.sharing.verification import Verification
from support.late_checks import LateChecked
from support.runs import run_scheme
from support.schemes import EVERY

FORMAT = FixedPoint(20)


def numbers(party: Party, count: int = 9) -> SecretArray:
    return party.constant(np.linspace(0.5, 2, count), FORMAT)


PROGRAMS: dict[str, Callable[[Party], SecretArray]] = {
    "nothing put off": lambda p: numbers(p) + 1,
    "one product": lambda p: numbers(p, 1) * numbers(p, 1),
    "products": lambda p: numbers(p) * numbers(p) * numbers(p),
    "inner": lambda p: numbers(p).inner(numbers(p)),
    "divide": lambda p: divide(numbers(p), numbers(p), quotient_bound=8.0),
    "sigmoid": lambda p: sigmoid(numbers(p) * 100),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_meter_counts_checks_that_are_put_off(name: str) -> None:
    def work(scheme: Scheme) -> None:
        party = Party(scheme, {})
        first = PROGRAMS[name](party)
        party.export_share(first)
        party.open(PROGRAMS[name](party), reason="a test")

    run, meter = run_scheme(LateChecked, work), Meter(LateChecked)
    work(meter)
    assert meter.tally.bytes == run.everything().bytes_sent
    assert meter.tally.rounds == max(counts.total.rounds for counts in run.traffic)
    assert (meter.tally.rounds > 0) == (meter.tally.checks > 0) == (name != "nothing put off")


@pytest.mark.parametrize("way_out", ["open", "export_share", "verify"])
def test_what_was_put_off_is_checked_before_it_leaves(way_out: str) -> None:
    def program(scheme: Scheme) -> str:
        party = Party(scheme, {})
        assert isinstance(scheme, LateChecked)
        scheme.tampers = scheme.rank == 1
        product = numbers(party) * numbers(party)
        leave: dict[str, Callable[[], object]] = {
            "open": lambda: party.open(product, reason="a test"),
            "export_share": lambda: party.export_share(product),
            "verify": party.verify,
        }
        with pytest.raises(ProtocolError, match="multiplied differently"):
            leave[way_out]()
        for again in leave.values():
            with pytest.raises(ProtocolError, match="This run has ended"):
                again()
        with pytest.raises(ProtocolError, match="This run has ended"):
            numbers(party) * numbers(party)
        assert not party.audit.openings, "an opening was noted that did not take place"
        return "stopped"

    assert run_scheme(LateChecked, program).results == ["stopped"] * 3


def test_a_queue_is_empty_afterwards() -> None:
    def program(scheme: Scheme) -> int:
        party = Party(scheme, {})
        product = numbers(party) * numbers(party)
        party.verify()
        before = scheme.mesh.counts.total.bytes_sent
        party.open(product, reason="a test")
        return scheme.mesh.counts.total.bytes_sent - before

    assert run_scheme(LateChecked, program).results == [0, 0, 0]


@pytest.mark.parametrize("error", [TimeoutError, OSError, KeyboardInterrupt])
def test_a_check_that_did_not_come_to_its_end_has_failed(error: type[BaseException]) -> None:
    state = Verification()
    with state.checking():
        pass
    state.refuse_after_failure()
    with pytest.raises(error), state.checking():
        raise error("the line is dead")
    with pytest.raises(ProtocolError, match="A check did not come to its end"), state.checking():
        pass
    with pytest.raises(ProtocolError, match="A check did not come to its end"):
        state.refuse_after_failure()


@pytest.mark.parametrize("scheme", EVERY)
def test_nothing_is_left_to_check_after_an_export(scheme: str) -> None:
    def program(s: Scheme) -> int:
        party = Party(s, {})
        party.open(numbers(party) * numbers(party), reason="a test")
        before = s.mesh.counts.total.bytes_sent
        party.export_share(numbers(party) * numbers(party))
        after_product = s.mesh.counts.total.bytes_sent
        party.verify()
        assert before <= after_product
        return s.mesh.counts.total.bytes_sent - after_product

    assert set(run_scheme(scheme, program).results) == {0}
