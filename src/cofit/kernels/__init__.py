"""Exact arithmetic on arrays of ring elements, in C++.

An element of Z_2^64 is one ``uint64`` word; an element of Z_2^128 is two adjacent words, low word first
(``words`` is 1 or 2). Arrays are C-contiguous; a matrix of ``rows`` x ``cols`` elements has shape
``(rows, cols * words)``. The caller allocates ``out``. Nothing is converted, copied or broadcast silently: an
argument that does not fit raises ``TypeError`` or ``ValueError`` and names itself.

Products of matrices, with one to eight terms, fused into one pass (two terms are the local product of
three-party replicated sharing). ``out`` must not overlap an input; ``threads`` is an upper bound, 0 for the
default::

    matvec(mats, vecs, out, words, threads)      out = sum_t mats[t] @ vecs[t]
    matvec_t(mats, vecs, out, words, threads)    out = sum_t mats[t].T @ vecs[t]
    matmul(lhs, rhs, out, words, threads)        out = sum_t lhs[t] @ rhs[t]

Every matrix by two vectors of its own, read once (the local product of four-party replicated sharing)::

    matvec_pairs(mats, vecs, out, words, threads)     out[2t + i] = mats[t] @ vecs[2t + i], i = 0 and 1
    matvec_t_pairs(mats, vecs, out, words, threads)   out[2t + i] = mats[t].T @ vecs[2t + i]

Maps over flat arrays. ``out`` may be an input itself; ``b`` and ``rhs[t]`` may be one element for all::

    add, sub, mul(a, b, out, words)              out = a + b, a - b, a * b
    mul_sum(lhs, rhs, out, words)                out = sum_t lhs[t] * rhs[t]
    neg(a, out, words)                           out = -a
    shl, shr(a, bits, out, words)                out = a * 2^bits, floor(a / 2^bits) of the unsigned value
    sar(a, bits, out, words)                     out = floor(a / 2^bits) of the two's complement value

What a party does between two messages of replicated sharing, in one pass. ``plus`` and ``minus`` are lists of up to
64 arrays; with ``words`` 0 the elements are bits of GF(2), 64 in a word, plus and minus are XOR and times is AND.
Arrays may have any shape, and are taken as flat ones; those of two words may also be records (lo, hi)::

    signed_sum(plus, minus, out, words)          out = sum(plus) - sum(minus)
    cross_product(a, b, plus, minus, out, words) out = a[0] (b[0] + b[1]) + a[1] b[0] + sum(plus) - sum(minus)

and of its truncation by a masked opening in a ring of k bits (c is sum(opened) + 2^(k-2); 0 < shift < k)::

    mask_parts(r_0, r_1, share, top, shift, out, words)    out[0] = ((r_0 + r_1) >> shift) - share
                                                           out[1] = ((r_0 + r_1) >> (k - 1)) - top
    unmask(opened, share, top, out_mask, shift, adds_opened, out, words)
        out = (1 - top bit of c) top 2^(k - shift) - share - out_mask [+ (c >> shift) - 2^(k - 2 - shift)]

Linear combinations of up to 64 arrays, and bilinear forms of two lists of up to eight, with ``words`` and shapes as
above. ``coefficients`` are elements, a row for each of ``outs`` or of ``a``; those that are 0, 1 and -1 cost little. No
array of ``outs`` may overlap another array; ``out`` may be an input itself::

    combine(inputs, coefficients, outs, words)   outs[c] = sum_a coefficients[c, a] inputs[a]
    bilinear(a, b, coefficients, plus, minus, out, words)
                                                 out = sum_(c, d) coefficients[c, d] a[c] b[d] + sum(plus) - sum(minus)

Bits. Padding bits are written as zero and never read::

    pack_bits(bits, out)                         bit j of out[r, w] = bits[r, 64 w + j], each 0 or 1
    unpack_bits(words, out)                      the inverse
    to_planes(values, out, words)                bit i of plane out[b] = bit b of element i
    from_planes(planes, out, words)              the inverse
    bit_forms(matrix, left, right, out, begin, end)
                                                 out[r] = XOR_p left[p] AND (XOR of right[q], q a bit of matrix[r, p]),
                                                 in the words from begin to end of every row; at most 64 rows q

The interpreter lock is released during the work. Results do not depend on the number of threads or on the
instruction set; the best one that this CPU has is used unless ``COFIT_ISA`` or ``set_isa`` says otherwise.
``COFIT_THREADS`` or ``set_threads`` sets the default number of threads, else 1.

``keep_freed_memory(True)``: what arrays of up to 16 MiB leave free stays with this process, for the next ones, until
``keep_freed_memory(False)`` gives it back. New memory is cleared by the system before it is written.
"""

from __future__ import annotations

from cofit.kernels._native import (
    add,
    available_isas,
    bilinear,
    bit_forms,
    combine,
    cross_product,
    from_planes,
    isa,
    keep_freed_memory,
    mask_parts,
    matmul,
    matvec,
    matvec_pairs,
    matvec_t,
    matvec_t_pairs,
    mul,
    mul_sum,
    neg,
    pack_bits,
    sar,
    set_isa,
    set_threads,
    shl,
    shr,
    signed_sum,
    sub,
    threads,
    to_planes,
    unmask,
    unpack_bits,
)

__all__ = [
    "add",
    "available_isas",
    "bilinear",
    "bit_forms",
    "combine",
    "cross_product",
    "from_planes",
    "isa",
    "keep_freed_memory",
    "mask_parts",
    "matmul",
    "matvec",
    "matvec_pairs",
    "matvec_t",
    "matvec_t_pairs",
    "mul",
    "mul_sum",
    "neg",
    "pack_bits",
    "sar",
    "set_isa",
    "set_threads",
    "shl",
    "shr",
    "signed_sum",
    "sub",
    "threads",
    "to_planes",
    "unmask",
    "unpack_bits",
]
