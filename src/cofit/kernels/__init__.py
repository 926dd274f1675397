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
    squared_distances(a, row, plus, minus, out, words)
        out = d[0] (d[0] + 2 d[1]) + sum(plus) - sum(minus), where d = a - row in every row of a (words 1 or 2)
    signed_by_bits(bits, a, adds_bits, minus, out, words)
        out = (1 - 2 b) a [+ b] - minus, for packed bits b, a row for each of out. a and minus are lists of one array,
        or one of them of none

and of its truncation by a masked opening in a ring of k bits (c is sum(opened) + 2^(k-2); 0 < shift < k - 1)::

    unmask(opened, share, top, out_mask, shift, adds_opened, out, words)
        out = (1 - top bit of c) top 2^(k - shift) - share - out_mask [+ (c >> shift) - 2^(k - 2 - shift)]

and with fewer bytes (``sharing/rep3/proof.md``). Narrow numbers have so many bytes each, one after the other in words,
the lowest byte first. ``top``, ``hidden``, ``parts`` and outputs named after them are such numbers, of ceil(shift / 8)
bytes. What is left of the last word of an output is copied from ``top`` (mask_parts), ``hidden`` or ``fill``::

    narrow(values, bytes, fill, out, words)      out = the lowest bytes of all values
    widen(packed, bytes, out, words)             out = all numbers, as elements
    mask_parts(r_0, r_1, share, top, shift, out_share, out_top, words)
        out_share = -((r_0 + r_1) >> shift) - share, out_top = ((r_0 + r_1) >> (k - 1)) - top
    open_masked(opened, top, hidden, shift, out, out_high, words)
        out = (c >> shift) - 2^(k - 2 - shift), out_high = (1 - top bit of c) top - hidden
    add_high(values, parts, shift, out, words)   out = values + 2^(k - shift) sum(parts), of one or two

and where it clips a sum (``sharing/rep3/clip.py``; i and n are packed bits of the elements, ``inside`` and ``below``; q
is mask >> shift, and then, where shift > 0, the top bit of the mask; 0 <= shift < k - 1)::

    carry_tables(planes, out)                    out[15 g + x - 1] = whether the number of four planes is at least x
    carry_signals(table, planes, constant, out)  what ``arithmetic/carry_tables.py`` picks, for several numbers
    clip_deal(mask, inside, below, hidden, shift, out, words)
        out = i, n, and i q and (1 - i) q for each q, a row each, less hidden, a list of as many rows
    clip_products(opened, inside, below, dealt, out_mask, ends, shift, first, out, words)
        with d the list of rows dealt, (lower, upper) = ends and F = 1 if first, else 0:
        out = ((1 - 2 i) d[0] + i F) ((opened >> shift) - 2^(k-2-shift) - upper) - d[2 + i] + F upper
              - ((1 - 2 n) d[1] + n F) (upper - lower) + (1 - top bit of opened) d[4 + i] 2^(k-shift) - out_mask

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

Proofs of products. A form of two lists of up to 20 arrays is, at index i, ``sum_A xs[A][i] (sum_B ys[B][i])`` over the
bits B of ``masks[A]``; a mask of zero counts nothing. A relation has seven bytes of ``coefficients``: its bit
``l = 8 a + j``, bit j of byte a, says whether sum l of 56 counts it. For the kernels that are exact, an element is a
number from 0 to 2^(64 words) - 1, and a result has 2 words + 1 limbs, low first::

    subset_sums(values, coefficients, out, words)    out[l] = sum of values[i], i with bit l
    claimed_sums(xs, ys, masks, coefficients, terms, out, words)
                                                     out[l] = sum of the forms of relations with bit l, exact;
                                                     relation i has the indices from i terms to (i + 1) terms - 1
    claimed_matrix(ys, vs, masks, out, words)        out[l, k] = sum_j form of ys[A][l, j] and vs[B][k, j], exact
    project(mask, matrix, out, words, threads)       out[l, c] = sum of matrix[r, c], r with bit l of mask[r]
    project_t(mask, matrix, out, words, threads)     out[l, r] = sum of matrix[r, c], c with bit l of mask[c]

The same in the field of a prime between 2^60 and 2^61, whose elements are words below it. That they are, and that the
number is a prime, is the caller's part. ``weights`` may be None, for ones; ``out`` of a fold may be the first half of
``x``::

    field_weights(coefficients, sigma, prime, out)   out[i] = sum of sigma[l], l a bit of relation i
    field_scale(values, weights, terms, prime, out, words)
                                                     out[j] = weights[j // terms] values[j]
    field_combine(values, sigma, prime, out, words)  out[r, j] = sum_k sigma[r, k] values[k, j]
    field_fold(x, r, prime, out)                     out[i] = x[i] + r (x[h + i] - x[i]), h half of the length
    field_form(xs, ys, masks, prime)                 the sum of the forms at all indices
    field_halves(xs, ys, masks, prime)               that of the first halves, that of second minus first halves

and in GF(2^64) mod x^64 + x^4 + x^3 + x + 1, where bit i of a word is the coefficient of x^i::

    gf_mul(a, b)                                     a b, of two integers
    gf_scale(values, weights, out)                   out = values weights; ``weights`` may be one element for all
    gf_fold(x, r, out), gf_form(xs, ys, masks), gf_halves(xs, ys, masks)
    gf_outer(omega, beta, x, out)                    out[64 v + b] = x[64 v + b] omega[v] beta[b]

Rows of bits with weights in GF(2^64); Lambda(word) is the sum of beta[b] over its bits b. An array of ``bit_grid`` has
16 rows k = sum_j k_j 2^j, which are values at the points of {0, 1}^4; the value at inf is the sum of those at 0 and 1,
and point e of {0, 1, inf}^4 has the number sum_j e_j 3^j, with 2 for inf::

    bit_grid(xs, ys, masks, beta, omega, out)        out[e] = sum_v omega[v] Lambda(form at point e of word v of rows)
    bit_gather(rows, coefs, out)                     out[64 v + b] = sum of coefs[q], q with bit b of rows[q, v]
    bit_weighted(rows, coefs, beta, omega)           sum_v omega[v] sum_q coefs[q] Lambda(rows[q, v])

Oblivious transfer, by the CPU's instructions for AES-128. Where ``aes_available()`` is false (the CPU has none, or the
instruction set is the baseline) all others raise ``RuntimeError``. A key has 16 bytes, its schedule 176. The streams of
832 keys, 32 for each of 26 trees, are AES in counter mode from block ``position`` on; bit i of a stream belongs to
transfer i. A row has two words, of which bits 5 b to 5 b + 4 belong to tree b, and three bits to the last tree::

    aes_schedules(keys, out)                         out[i] = the round keys of keys[i]
    ot_chooser(schedules, position, rows, choices, corrections, threads)
                                                     bit 5 b + j of rows[i] = bit i of the XOR of the streams of tree b
                                                     whose number has bit j; choices = the XOR of all streams of tree 0;
                                                     corrections[q, b - 1] = choices XOR all streams of tree b, of
                                                     transfers 1024 q to 1024 q + 1023
    ot_sender(schedules, delta, position, corrections, rows, threads)
                                                     the same rows, but to bit 5 b + j, if delta has it
                                                     and b > 0, XOR corrections[q, b - 1]

and the hash H(i, x) = pi(pi(x) XOR i) XOR pi(x) of rows, where pi is AES with the next schedule after every 16 groups
of 64 rows (counted from tweak 0), and ``delta`` and ``first`` are two words, low first. Rows: a multiple of 64::

    ot_hash_wide(schedules, rows, delta, first, out, threads)     out[j] = H(first + j, rows[j] XOR delta)
    ot_hash_words(schedules, rows, delta, first, out, threads)    out[j] = its low word
    ot_hash_bits(schedules, rows, delta, first, out, threads)     bit j of out = its lowest bit
    ot_hash_planes(schedules, rows, delta, first, out, threads)   bit j of plane out[b] = its bit b, of at most 128
Polynomials modulo X^n + 1 and modulo L primes between 2^49 and 2^50 that are 1 modulo 2n, for RLWE encryption; that the
numbers are primes, and residues below them, is the caller's part. Residues are words in rows of n, a row for each
prime in turn; transformed ones are in bit-reversed order. Small numbers are words in two's complement. q is the product
of the primes, t is 2^(64 words). No branch and no address depends on a value::

    rlwe_forward, rlwe_inverse(values, primes, degree)   transforms in place
    rlwe_ternary, rlwe_binomial(random, out)             small numbers of uniform words: -1, 0 or 1; of 2 x 21 coins
    rlwe_pack(values, out)                               50 bits a residue, and whole bytes a row
    rlwe_unpack(packed, primes, out)                     the inverse; returns how many are not below their prime
    rlwe_small(small, primes, out)                       out = transform of small
    rlwe_encrypt(elements, small, a, s, primes, out, words)
                                                         out = transform of round(q elements / t) + small, less a s
    rlwe_multiply(x, rows, width, step, requests, key, small, primes, degree, out, words)
        for every ``rows`` rows of the matrix x, whose strides may be any: out[0], out[1] = sum over blocks k of
        ``width`` columns of requests[k, 0 or 1] times the polynomial with x[i, j] at i step + width - 1 - j, plus
        key[0 or 1] times small[0], plus small[1 or 2]; requests and key are transformed, out is not
    rlwe_phase(c, s, primes, out)                        out = c s; s is transformed
    rlwe_round(values, primes, margin, out, near, words) out = round(t values / q) mod t; near: whether the fraction is
                                                         within margin / t of one half
    rlwe_drop(values, primes, out)                       out = round(values / last prime), modulo the others

The interpreter lock is released during the work. Results do not depend on the number of threads or on the
instruction set; the best one that this CPU has is used unless ``COFIT_ISA`` or ``set_isa`` says otherwise.
``COFIT_THREADS`` or ``set_threads`` sets the default number of threads, else 1.

``keep_freed_memory(True)``: what arrays of up to 16 MiB leave free stays with this process, for the next ones, until
``keep_freed_memory(False)`` gives it back. New memory is cleared by the system before it is written.
"""

from __future__ import annotations

from cofit.kernels._native import (
    add,
    add_high,
    aes_available,
    aes_schedules,
    available_isas,
    bilinear,
    bit_forms,
    bit_gather,
    bit_grid,
    bit_weighted,
    carry_signals,
    carry_tables,
    claimed_matrix,
    claimed_sums,
    clip_deal,
    clip_products,
    combine,
    cross_product,
    field_combine,
    field_fold,
    field_form,
    field_halves,
    field_scale,
    field_weights,
    from_planes,
    gf_fold,
    gf_form,
    gf_halves,
    gf_mul,
    gf_outer,
    gf_scale,
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
    narrow,
    neg,
    open_masked,
    ot_chooser,
    ot_hash_bits,
    ot_hash_planes,
    ot_hash_wide,
    ot_hash_words,
    ot_sender,
    pack_bits,
    project,
    project_t,
    rlwe_binomial,
    rlwe_drop,
    rlwe_encrypt,
    rlwe_forward,
    rlwe_inverse,
    rlwe_multiply,
    rlwe_pack,
    rlwe_phase,
    rlwe_round,
    rlwe_small,
    rlwe_ternary,
    rlwe_unpack,
    sar,
    set_isa,
    set_threads,
    shl,
    shr,
    signed_by_bits,
    signed_sum,
    squared_distances,
    sub,
    subset_sums,
    threads,
    to_planes,
    unmask,
    unpack_bits,
    widen,
)

__all__ = [
    "add",
    "add_high",
    "aes_available",
    "aes_schedules",
    "available_isas",
    "bilinear",
    "bit_forms",
    "bit_gather",
    "bit_grid",
    "bit_weighted",
    "carry_signals",
    "carry_tables",
    "claimed_matrix",
    "claimed_sums",
    "clip_deal",
    "clip_products",
    "combine",
    "cross_product",
    "field_combine",
    "field_fold",
    "field_form",
    "field_halves",
    "field_scale",
    "field_weights",
    "from_planes",
    "gf_fold",
    "gf_form",
    "gf_halves",
    "gf_mul",
    "gf_outer",
    "gf_scale",
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
    "narrow",
    "neg",
    "open_masked",
    "ot_chooser",
    "ot_hash_bits",
    "ot_hash_planes",
    "ot_hash_wide",
    "ot_hash_words",
    "ot_sender",
    "pack_bits",
    "project",
    "project_t",
    "rlwe_binomial",
    "rlwe_drop",
    "rlwe_encrypt",
    "rlwe_forward",
    "rlwe_inverse",
    "rlwe_multiply",
    "rlwe_pack",
    "rlwe_phase",
    "rlwe_round",
    "rlwe_small",
    "rlwe_ternary",
    "rlwe_unpack",
    "sar",
    "set_isa",
    "set_threads",
    "shl",
    "shr",
    "signed_by_bits",
    "signed_sum",
    "squared_distances",
    "sub",
    "subset_sums",
    "threads",
    "to_planes",
    "unmask",
    "unpack_bits",
    "widen",
]
