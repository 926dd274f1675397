"""The party as a program of a study gets it: it opens what the study declares, in order, and nothing else.

The same function runs here and in ``cofit.run_local``. What is refused here, before a message is sent: an opening that
is not the next declared one (in reason, shape or receivers), and whatever lets values in or shares out past the study's
inputs and openings. After a refusal every further opening is refused, whatever the program does with the error.

Why a restart is safe, and where it cannot be: ``declared_proof.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Z64, IntegerRing, Shape
from cofit.errors import InvalidInputError, ProtocolError, parameter_error
from cofit.secret.array import SecretArray
from cofit.secret.audit import AuditLog, Opening
from cofit.secret.bits import SecretBits
from cofit.secret.conversions import bits_to_array
from cofit.secret.party import Party

_REFUSED = {
    "share": "brings in a value that no owner contributed",
    "announce": "sends other parties what it likes",
    "agree": "sends other parties what it likes",
    "export_share": "takes a share out of the computation",
    "import_share": "brings in a share from outside of the computation",
    "check_stored": "is about stored shares",
    "take": "brings in a contribution",
    "collect": "brings in contributions",
    "session": "is another one after a restart, so that a program that goes by it opens what no one session would",
}


class DeclaredParty(Party):
    """One party's side of a program of a study, on top of the session's own ``party``.

    check: raises unless an opening is declared. release: stores and opens a value; it calls what it is given, which
    returns the value, if and only if no party has stored one (then this is a new opening, else a repeated one).
    """

    def __init__(
        self,
        party: Party,
        check: Callable[[Opening], None],
        release: Callable[[Callable[[], SecretArray]], npt.NDArray[Any] | None],
    ) -> None:
        super().__init__(party._scheme, party._facts, AuditLog(_past_the_study), party._report)
        self._dealt = party._dealt
        self._check = check
        self._release = release
        self._made = 0
        self._draws = 0
        self._stale_draws = 0
        self.failure: Exception | None = None

    def open(  # type: ignore[override]
        self, value: SecretArray | SecretBits, *, reason: str, to: Sequence[str] | None = None
    ) -> npt.NDArray[Any] | None:
        """Reveal a value as the study declares it; see ``Party.open``. Bits are opened as the integers 0 and 1."""
        if self.failure is not None:
            raise self.failure
        try:
            return self._open(value, reason, to)
        except Exception as error:
            self.failure = error
            raise

    def _open(self, value: SecretArray | SecretBits, reason: str, to: Sequence[str] | None) -> npt.NDArray[Any] | None:
        if not isinstance(value, SecretArray | SecretBits):
            raise InvalidInputError(f"Only secret values can be opened; got {type(value).__name__}.")
        names = self.parties if to is None else (to,) if isinstance(to, str) else tuple(to)
        for name in names:
            self._rank_of(name, "open")
        receivers = tuple(name for name in self.parties if name in names)
        bits = isinstance(value, SecretBits)
        shape: Shape = (value.width, *value.shape) if isinstance(value, SecretBits) else value.shape
        kind = "bits" if bits else str(value.format)  # type: ignore[union-attr]
        self._check(Opening(self._made + 1, reason, kind, shape, receivers))
        self._made += 1
        secret = bits_to_array(value, Z64) if isinstance(value, SecretBits) else value
        drawn = False

        def draw() -> SecretArray:
            nonlocal drawn
            drawn = True
            if self._stale_draws:
                raise ProtocolError(
                    f"The program was stopped between two of its openings, and opening {self._made} may depend on "
                    f"randomness that it drew before an earlier one and cannot draw again. Nothing was opened. Make "
                    "one opening of all values that share a draw (cofit.concatenate), and agree on a new study."
                )
            return secret

        opened = self._release(draw)
        if not drawn:
            self._stale_draws = self._draws
        if self.deals:
            dtype = np.float64 if secret.format.fraction_bits else np.int64
            return np.zeros(shape, dtype=dtype) if receivers == self.parties else None
        return opened

    def random_bits(self, shape: Shape, ring: IntegerRing = Z64) -> SecretArray:
        self._draws += 1
        return super().random_bits(shape, ring)

    def random_secret_bits(self, shape: Shape, width: int = 1) -> SecretBits:
        self._draws += 1
        return super().random_secret_bits(shape, width)

    def __getattribute__(self, name: str) -> Any:
        if name in _REFUSED:
            raise parameter_error(
                "program", "a study", f"free of party.{name}: it {_REFUSED[name]}, past the study", f"party.{name}"
            )
        return super().__getattribute__(name)


def _past_the_study(opening: Opening) -> NoReturn:
    raise ProtocolError(f"The program wants to open a value past the study ({opening.reason!r}). Nothing was opened.")
