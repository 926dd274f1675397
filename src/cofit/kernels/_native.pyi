from collections.abc import Sequence
from typing import Any

from numpy import uint8, uint64
from numpy.typing import NDArray

def matvec(
    mats: Sequence[NDArray[uint64]],
    vecs: Sequence[NDArray[uint64]],
    out: NDArray[uint64],
    words: int,
    threads: int = 0,
) -> None: ...
def matvec_t(
    mats: Sequence[NDArray[uint64]],
    vecs: Sequence[NDArray[uint64]],
    out: NDArray[uint64],
    words: int,
    threads: int = 0,
) -> None: ...
def matvec_pairs(
    mats: Sequence[NDArray[uint64]], vecs: NDArray[uint64], out: NDArray[uint64], words: int, threads: int = 0
) -> None: ...
def matvec_t_pairs(
    mats: Sequence[NDArray[uint64]], vecs: NDArray[uint64], out: NDArray[uint64], words: int, threads: int = 0
) -> None: ...
def matmul(
    lhs: Sequence[NDArray[uint64]],
    rhs: Sequence[NDArray[uint64]],
    out: NDArray[uint64],
    words: int,
    threads: int = 0,
) -> None: ...
def add(a: NDArray[uint64], b: NDArray[uint64], out: NDArray[uint64], words: int) -> None: ...
def sub(a: NDArray[uint64], b: NDArray[uint64], out: NDArray[uint64], words: int) -> None: ...
def mul(a: NDArray[uint64], b: NDArray[uint64], out: NDArray[uint64], words: int) -> None: ...
def mul_sum(
    lhs: Sequence[NDArray[uint64]], rhs: Sequence[NDArray[uint64]], out: NDArray[uint64], words: int
) -> None: ...
def neg(a: NDArray[uint64], out: NDArray[uint64], words: int) -> None: ...
def shl(a: NDArray[uint64], bits: int, out: NDArray[uint64], words: int) -> None: ...
def shr(a: NDArray[uint64], bits: int, out: NDArray[uint64], words: int) -> None: ...
def sar(a: NDArray[uint64], bits: int, out: NDArray[uint64], words: int) -> None: ...
def pack_bits(bits: NDArray[uint8], out: NDArray[uint64]) -> None: ...
def unpack_bits(words: NDArray[uint64], out: NDArray[uint8]) -> None: ...
def to_planes(values: NDArray[uint64], out: NDArray[uint64], words: int) -> None: ...
def from_planes(planes: NDArray[uint64], out: NDArray[uint64], words: int) -> None: ...
def bit_forms(
    matrix: NDArray[uint64],
    left: NDArray[uint64],
    right: NDArray[uint64],
    out: NDArray[uint64],
    begin: int,
    end: int,
) -> None: ...
def available_isas() -> list[str]: ...
def isa() -> str: ...
def set_isa(name: str) -> None: ...
def threads() -> int: ...
def set_threads(n: int) -> None: ...
def keep_freed_memory(kept: bool) -> None: ...
def carry_tables(planes: NDArray[uint64], out: NDArray[uint64]) -> None: ...
def carry_signals(table: NDArray[uint64], planes: NDArray[uint64], constant: bool, out: NDArray[uint64]) -> None: ...
def clip_deal(
    mask: NDArray[uint64],
    inside: NDArray[uint64],
    below: NDArray[uint64],
    hidden: Sequence[NDArray[uint64]],
    shift: int,
    out: NDArray[uint64],
    words: int,
) -> None: ...
def clip_products(
    opened: NDArray[uint64],
    inside: NDArray[uint64],
    below: NDArray[uint64],
    dealt: Sequence[NDArray[uint64]],
    out_mask: NDArray[uint64],
    ends: NDArray[uint64],
    shift: int,
    first: bool,
    out: NDArray[uint64],
    words: int,
) -> None: ...
def signed_sum(
    plus: Sequence[NDArray[uint64]], minus: Sequence[NDArray[uint64]], out: NDArray[uint64], words: int
) -> None: ...
def cross_product(
    a: Sequence[NDArray[uint64]],
    b: Sequence[NDArray[uint64]],
    plus: Sequence[NDArray[uint64]],
    minus: Sequence[NDArray[uint64]],
    out: NDArray[uint64],
    words: int,
) -> None: ...
def squared_distances(
    a: Sequence[NDArray[uint64]],
    row: Sequence[NDArray[uint64]],
    plus: Sequence[NDArray[uint64]],
    minus: Sequence[NDArray[uint64]],
    out: NDArray[uint64],
    words: int,
) -> None: ...
def signed_by_bits(
    bits: NDArray[uint64],
    a: Sequence[NDArray[uint64]],
    adds_bits: bool,
    minus: Sequence[NDArray[uint64]],
    out: NDArray[uint64],
    words: int,
) -> None: ...
def narrow(values: NDArray[uint64], bytes: int, fill: NDArray[uint64], out: NDArray[uint64], words: int) -> None: ...
def widen(packed: NDArray[uint64], bytes: int, out: NDArray[uint64], words: int) -> None: ...
def mask_parts(
    r_0: NDArray[uint64],
    r_1: NDArray[uint64],
    share: NDArray[uint64],
    top: NDArray[uint64],
    shift: int,
    out_share: NDArray[uint64],
    out_top: NDArray[uint64],
    words: int,
) -> None: ...
def open_masked(
    opened: Sequence[NDArray[uint64]],
    top: NDArray[uint64],
    hidden: NDArray[uint64],
    shift: int,
    out: NDArray[uint64],
    out_high: NDArray[uint64],
    words: int,
) -> None: ...
def add_high(
    values: NDArray[uint64], parts: Sequence[NDArray[uint64]], shift: int, out: NDArray[uint64], words: int
) -> None: ...
def unmask(
    opened: Sequence[NDArray[uint64]],
    share: NDArray[uint64],
    top: NDArray[uint64],
    out_mask: NDArray[uint64],
    shift: int,
    adds_opened: bool,
    out: NDArray[uint64],
    words: int,
) -> None: ...
def combine(
    inputs: Sequence[NDArray[uint64]], coefficients: NDArray[uint64], outs: Sequence[NDArray[uint64]], words: int
) -> None: ...
def bilinear(
    a: Sequence[NDArray[uint64]],
    b: Sequence[NDArray[uint64]],
    coefficients: NDArray[uint64],
    plus: Sequence[NDArray[uint64]],
    minus: Sequence[NDArray[uint64]],
    out: NDArray[uint64],
    words: int,
) -> None: ...
def subset_sums(values: NDArray[uint64], coefficients: NDArray[uint8], out: NDArray[uint64], words: int) -> None: ...
def claimed_sums(
    xs: Sequence[NDArray[uint64]],
    ys: Sequence[NDArray[uint64]],
    masks: Sequence[int],
    coefficients: NDArray[uint8],
    terms: int,
    out: NDArray[uint64],
    words: int,
) -> None: ...
def claimed_matrix(
    ys: Sequence[NDArray[uint64]],
    vs: Sequence[NDArray[uint64]],
    masks: Sequence[int],
    out: NDArray[uint64],
    words: int,
) -> None: ...
def project(
    mask: NDArray[uint64], matrix: NDArray[uint64], out: NDArray[uint64], words: int, threads: int = 0
) -> None: ...
def project_t(
    mask: NDArray[uint64], matrix: NDArray[uint64], out: NDArray[uint64], words: int, threads: int = 0
) -> None: ...
def field_weights(coefficients: NDArray[uint8], sigma: NDArray[uint64], prime: int, out: NDArray[uint64]) -> None: ...
def field_scale(
    values: NDArray[uint64],
    weights: NDArray[uint64] | None,
    terms: int,
    prime: int,
    out: NDArray[uint64],
    words: int,
) -> None: ...
def field_combine(
    values: NDArray[uint64], sigma: NDArray[uint64], prime: int, out: NDArray[uint64], words: int
) -> None: ...
def field_fold(x: NDArray[uint64], r: int, prime: int, out: NDArray[uint64]) -> None: ...
def field_halves(
    xs: Sequence[NDArray[uint64]], ys: Sequence[NDArray[uint64]], masks: Sequence[int], prime: int
) -> tuple[int, int]: ...
def field_form(
    xs: Sequence[NDArray[uint64]], ys: Sequence[NDArray[uint64]], masks: Sequence[int], prime: int
) -> int: ...
def gf_mul(a: int, b: int) -> int: ...
def gf_scale(values: NDArray[uint64], weights: NDArray[uint64], out: NDArray[uint64]) -> None: ...
def gf_fold(x: NDArray[uint64], r: int, out: NDArray[uint64]) -> None: ...
def gf_halves(
    xs: Sequence[NDArray[uint64]], ys: Sequence[NDArray[uint64]], masks: Sequence[int]
) -> tuple[int, int]: ...
def gf_form(xs: Sequence[NDArray[uint64]], ys: Sequence[NDArray[uint64]], masks: Sequence[int]) -> int: ...
def gf_outer(omega: NDArray[uint64], beta: NDArray[uint64], x: NDArray[uint64], out: NDArray[uint64]) -> None: ...
def bit_grid(
    xs: Sequence[NDArray[uint64]],
    ys: Sequence[NDArray[uint64]],
    masks: Sequence[int],
    beta: NDArray[uint64],
    omega: NDArray[uint64],
    out: NDArray[uint64],
) -> None: ...
def bit_gather(rows: NDArray[uint64], coefs: NDArray[uint64], out: NDArray[uint64]) -> None: ...
def bit_weighted(
    rows: NDArray[uint64], coefs: NDArray[uint64], beta: NDArray[uint64], omega: NDArray[uint64]
) -> int: ...
def aes_available() -> bool: ...
def aes_schedules(keys: NDArray[uint8], out: NDArray[uint8]) -> None: ...
def ot_chooser(
    schedules: NDArray[uint8],
    position: int,
    rows: NDArray[uint64],
    choices: NDArray[uint64],
    corrections: NDArray[uint8],
    threads: int = 0,
) -> None: ...
def ot_sender(
    schedules: NDArray[uint8],
    delta: NDArray[uint64],
    position: int,
    corrections: NDArray[uint8],
    rows: NDArray[uint64],
    threads: int = 0,
) -> None: ...
def ot_hash_wide(
    schedules: NDArray[uint8],
    rows: NDArray[uint64],
    delta: NDArray[uint64],
    first: NDArray[uint64],
    out: NDArray[uint64],
    threads: int = 0,
) -> None: ...
def ot_hash_words(
    schedules: NDArray[uint8],
    rows: NDArray[uint64],
    delta: NDArray[uint64],
    first: NDArray[uint64],
    out: NDArray[uint64],
    threads: int = 0,
) -> None: ...
def ot_hash_bits(
    schedules: NDArray[uint8],
    rows: NDArray[uint64],
    delta: NDArray[uint64],
    first: NDArray[uint64],
    out: NDArray[uint64],
    threads: int = 0,
) -> None: ...
def ot_hash_planes(
    schedules: NDArray[uint8],
    rows: NDArray[uint64],
    delta: NDArray[uint64],
    first: NDArray[uint64],
    out: NDArray[uint64],
    threads: int = 0,
) -> None: ...
def rlwe_forward(values: NDArray[uint64], primes: NDArray[uint64], degree: int) -> None: ...
def rlwe_inverse(values: NDArray[uint64], primes: NDArray[uint64], degree: int) -> None: ...
def rlwe_ternary(random: NDArray[uint64], out: NDArray[uint64]) -> None: ...
def rlwe_binomial(random: NDArray[uint64], out: NDArray[uint64]) -> None: ...
def rlwe_pack(values: NDArray[uint64], out: NDArray[uint8]) -> None: ...
def rlwe_unpack(packed: NDArray[uint8], primes: NDArray[uint64], out: NDArray[uint64]) -> int: ...
def rlwe_small(small: NDArray[uint64], primes: NDArray[uint64], out: NDArray[uint64]) -> None: ...
def rlwe_encrypt(
    elements: NDArray[Any],
    small: NDArray[uint64],
    a: NDArray[uint64],
    s: NDArray[uint64],
    primes: NDArray[uint64],
    out: NDArray[uint64],
    words: int,
) -> None: ...
def rlwe_multiply(
    x: NDArray[Any],
    rows: int,
    width: int,
    step: int,
    requests: NDArray[uint64],
    key: NDArray[uint64],
    small: NDArray[uint64],
    primes: NDArray[uint64],
    degree: int,
    out: NDArray[uint64],
    words: int,
) -> None: ...
def rlwe_phase(c: NDArray[uint64], s: NDArray[uint64], primes: NDArray[uint64], out: NDArray[uint64]) -> None: ...
def rlwe_round(
    values: NDArray[uint64],
    primes: NDArray[uint64],
    margin: int,
    out: NDArray[Any],
    near: NDArray[uint8],
    words: int,
) -> None: ...
def rlwe_drop(values: NDArray[uint64], primes: NDArray[uint64], out: NDArray[uint64]) -> None: ...
