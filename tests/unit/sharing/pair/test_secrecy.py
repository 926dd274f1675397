"""What either party of ``pair`` receives looks the same whatever the secrets are: by simple statistics of whole views.

Level of the tests: alpha = 1e-6 for each p-value. ``test_masks.py`` has the argument, which needs no statistics; here
the real transfers and the real encryption run, and weakened copies of them are noticed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from cofit import kernels
from cofit.arithmetic import Z64, RingArray
from cofit.arithmetic.integers import Words
from cofit.sharing.pair import hashing, rules
from cofit.sharing.pair.extension import Chooser
from cofit.sharing.pair.party import Pair
from cofit.sharing.pair.rlwe.client import Client
from cofit.sharing.pair.rlwe.packing import MatrixPacking
from cofit.sharing.pair.rlwe.parameters import Parameters, packed_bytes, parameters_for
from cofit.sharing.pair.rlwe.residues import Residues, summed, unpacked
from cofit.sharing.pair.rlwe.server import Server
from cofit.sharing.shares import PlacedBits
from support.chance import ALPHA, accept, reject
from support.views import Views, p_uniform_bytes, watched
from unit.kernels.rlwe_reference import joined
from unit.sharing.pair.pair_runs import elements, given, given_bits, run_pair
from unit.sharing.pair.test_masks import without_masks_of_products

N = 256
GROUP = [([0], [0, 1, 2])]
SECRETS = (0, -1)
"""Every summand of either party, bit by bit: zeros, or ones."""


@pytest.fixture(autouse=True)
def always_encrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "_FEWEST", 16)


def work(s: Pair, secret: int) -> None:
    """Every operation that sends messages, under labels of their own; summands have no randomness of their own."""
    x = [elements(Z64, np.full(N, secret, dtype=object))] * 2
    bits = [np.full((4, N), secret & 1, np.uint8)] * 2

    def numbers() -> Any:
        return given(s, Z64, *x)

    def matrix() -> Any:
        return given(s, Z64, *(each.reshape(16, 16) for each in x))

    steps: dict[str, Callable[[], object]] = {
        "product": lambda: s.mul(numbers(), numbers()),
        "square": lambda: s.mul(y := numbers(), y),
        "truncation": lambda: [s.truncate(numbers(), 9) for _ in range(4)],
        "held": lambda: [s.matmul(s.hold(matrix()), matrix())],
        "rows": lambda: s.inner(y := matrix(), y),
        "and": lambda: [s.boolean.and_(given_bits(s, *bits), given_bits(s, *bits)) for _ in range(8)],
        "form": lambda: [s.boolean.products(given_bits(s, *bits), given_bits(s, *bits), GROUP) for _ in range(16)],
        "elements": lambda: [s.from_bits(given_bits(s, *bits), Z64) for _ in range(4)],
        "digits": lambda: [s.from_numbers([PlacedBits(0, given_bits(s, *bits))], Z64) for _ in range(8)],
        "signs": lambda: s.sign_bits(numbers()),
    }
    for name, step in steps.items():
        with s.label(name):
            step()


def observed(secret: int) -> Views:
    with watched() as views:
        run_pair(lambda s: work(s, secret))
    return views


def p_values(views: Views) -> dict[str, float]:
    """Of the bytes that a party received in each operation, with those of the stocks that it filled."""
    found: dict[str, list[bytes]] = {}
    for party, received in views.received.items():
        for _, label, data in received:
            parts = label.split("/")
            name = parts[-1] if "prepare" in parts else parts[0]
            if name not in ("setup", "key"):
                found.setdefault(f"{name} to {party}", []).append(data)
    return {key: p_uniform_bytes(b"".join(parts)) for key, parts in found.items()}


@pytest.mark.parametrize("secret", SECRETS, ids=["zeros", "ones"])
def test_every_view_is_uniform_whatever_the_secret_is(secret: int) -> None:
    found = p_values(observed(secret))
    assert len(found) >= 2 * 12, "an operation sent nothing"
    accept(found)


def zeros_of(kind: str) -> Callable[..., Words]:
    whole = getattr(hashing, kind)

    def none(rows: Words, *rest: Any) -> Words:
        return np.zeros_like(whole(rows, *rest))

    return none


def without_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transfers of zeros."""
    for kind in ("bits", "words", "wide", "planes"):
        monkeypatch.setattr(hashing, kind, zeros_of(kind))


def without_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choices that are all 0."""
    extend = Chooser.extend

    def zeros(self: Chooser, count: int) -> Any:
        rows, choices, message = extend(self, count)
        return rows, np.zeros_like(choices), message

    monkeypatch.setattr(Chooser, "extend", zeros)


@pytest.mark.parametrize(
    ("weaken", "seen_in"),
    [
        (without_strings, {"product", "square", "truncation", "and", "form", "elements", "signs"}),
        (without_choices, {"product", "square", "truncation", "and", "elements", "signs"}),
        (without_masks_of_products, {"held"}),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_weakened_copy_shows_the_secret(
    weaken: Callable[[pytest.MonkeyPatch], None], seen_in: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    weaken(monkeypatch)
    found = [p_values(observed(secret)).items() for secret in SECRETS]
    noticed = {key.split()[0] for each in found for key, p in each if p < ALPHA / len(each)}
    assert seen_in <= noticed


# --- replies of encrypted products -----------------------------------------------------------------------


class WithoutMasks(Server):
    """r = 0."""

    def _masks(self, count: int, distance: int) -> tuple[Residues, RingArray]:
        r, rounded = super()._masks(count, distance)
        return np.zeros_like(r), self.parameters.ring.zeros(rounded.shape)


class MasksOfMessages(Server):
    """r a multiple of q / t: it hides results, and not the noise."""

    def _masks(self, count: int, distance: int) -> tuple[Residues, RingArray]:
        _, rounded = super()._masks(count, distance)
        parameters = self.parameters
        scaled = [int(m) * parameters.modulus >> 64 for m in rounded]
        return np.array([[m % p for m in scaled] for p in parameters.primes], dtype=np.uint64), rounded


def phases(server: type[Server], fill: int) -> tuple[list[int], NDArray[np.uint64], Parameters]:
    """What the client has before it rounds, of q', and all residues of the reply, as fractions of 2^16."""
    parameters = parameters_for(64)
    client, packing = Client(parameters), MatrixPacking(60, 40, 20, parameters)
    x = np.full(packing.matrix_shape, fill % 2**64, np.uint64)
    b = np.full(packing.operand_shape, fill % 2**64, np.uint64)
    _, reply = server(parameters, client.key_message).answer(packing, client.request(packing, b), x)
    moduli, limbs = parameters.reply_moduli, parameters.reply_limbs
    found, residues, start = [], [], 0
    for piece in range(packing.pieces):
        for part in packing.replies(piece):
            message = reply[start : start + packing.reply_size(part)]
            start += packing.reply_size(part)
            cut = limbs * packed_bytes(parameters.degree)
            c_1 = unpacked(message[:cut], moduli, parameters.degree, "The reply")
            c_0 = unpacked(message[cut:], moduli, len(part.places), "The reply")
            residues += [c_1, c_0]
            turned = np.empty_like(c_1)
            from_client(client, c_1, turned)
            found += joined(summed(c_0, turned[:, part.places], moduli), tuple(parameters.primes[:limbs]))
    fractions = np.concatenate([each.reshape(limbs, -1) for each in residues], axis=1)
    scaled = np.array([(row.astype(object) << 16) // p for row, p in zip(fractions, moduli.tolist(), strict=True)])
    return found, scaled.astype(np.uint64), parameters


def from_client(client: Client, c_1: Residues, out: Residues) -> None:
    limbs = client.parameters.reply_limbs
    kernels.rlwe_phase(c_1, client._secret[:limbs], client.parameters.reply_moduli, out)


def fractions_of(found: list[int], parameters: Parameters) -> NDArray[np.float64]:
    """The fraction of t phase / q': noise, where nothing hides it."""
    q = int(np.prod([int(p) for p in parameters.primes[: parameters.reply_limbs]], dtype=object))
    return np.array([((m << 64) % q) / q for m in found])


@pytest.mark.parametrize("fill", [0, 1, -1])
def test_residues_and_phases_of_replies_are_uniform(fill: int) -> None:
    found, residues, parameters = phases(Server, fill)
    p_values = {
        f"residues {i}": float(
            stats.chisquare(np.bincount((row >> np.uint64(8)).astype(np.int64), minlength=256)).pvalue
        )
        for i, row in enumerate(residues)
    }
    q = int(np.prod([int(p) for p in parameters.primes[: parameters.reply_limbs]], dtype=object))
    p_values["phases"] = float(stats.kstest([m / q for m in found], "uniform").pvalue)
    p_values["fractions"] = float(stats.kstest(fractions_of(found, parameters), "uniform").pvalue)
    accept(p_values)


@pytest.mark.parametrize("server", [WithoutMasks, MasksOfMessages])
def test_replies_without_the_whole_mask_show_the_noise(server: type[Server]) -> None:
    found, _, parameters = phases(server, 1)
    reject({"fractions": float(stats.kstest(fractions_of(found, parameters), "uniform").pvalue)})
