"""The figures that the paper printed: Pentyala et al., "Training Differentially Private Models with Secure Multiparty
Computation" (2022), tables 1 to 8, in percent and seconds."""

from __future__ import annotations

COFIT_AT_3, ENSEMBLE_AT_3, BASELINE_AT_3, TREE_AT_3 = 86.25, 85.31, 84.85, 84.38
SECONDS_AT_3 = {"cofit": 15_000.0, "ensemble": 31.942, "baseline": 0.27, "tree": 0.09}
"""Table 1: epsilon = 3, two owners, as the organisers of iDASH 2021 measured it."""

COFIT_AT_1 = 87.98
BASELINE_AT_1 = {2: 85.79, 4: 83.36, 8: 76.92}
"""Table 2: epsilon = 1; the paper's method is the same for every number of owners and both partitions."""

SECONDS = {
    ("semi2k", "horizontal"): 35_687.0,
    ("semi2k", "vertical"): 38_056.92,
    ("rep3", "horizontal"): 75.83,
    ("rep3", "vertical"): 454.83,
    ("repn", "horizontal"): 500.28,
    ("repn", "vertical"): 1_649.07,
    ("rep4", "horizontal"): 160.50,
    ("rep4", "vertical"): 838.02,
}
"""Table 3: 1000 epochs on machines with 32 cores each. Its scheme for two parties has no dealer."""

BY_EPSILON = {0.001: 37.72, 0.01: 50.58, 0.1: 62.57, 0.5: 72.51, 1.0: 87.42, float("inf"): 86.84}
"""Table 4: one fold, 1000 epochs."""

OBJECTIVE_AT_1, DPSGD_AT_1 = 49.40, 69.77
"""Table 5: epsilon = 1, two owners; output perturbation as in table 2."""

PATHAK_AT_1 = {2: 86.43, 4: 85.02, 8: 84.10}
JAYARAMAN_AT_1 = {2: 86.42, 4: 85.10, 8: 84.24}
"""Table 6: epsilon = 1."""

OTHER_SETS = {
    "GSE2034": {"rows": 895, "cols": 12_634, "central": 65.55, "baseline": 51.92, "cofit": 64.55, "seconds": 276.38},
    "BC-TCGA": {"rows": 1_875, "cols": 17_814, "central": 98.28, "baseline": 91.37, "cofit": 95.69, "seconds": 57.30},
}
"""Table 7: epsilon = 1; 300 and 20 epochs."""

SHAMIR_PASSIVE = {3: (954.91, 57_922.70), 4: (1_022.16, 83_667.90), 5: (2_725.58, 366_679.0), 7: (5_064.27, 711_226.33)}
SHAMIR_ACTIVE = {
    3: (21_213.21, 5_247_186.89),
    4: (23_244.34, 7_248_822.06),
    5: (68_176.24, 25_728_263.60),
    7: (131_391.0, 70_080_327.38),
}
"""Table 8: seconds and megabytes by the number of parties, 1000 epochs, sharing over a prime field."""
