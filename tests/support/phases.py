"""The phase of a training run that traffic belongs to, by the first part of its label."""

from __future__ import annotations

PHASES = {
    "setup": "share",
    "input": "share",
    "receipt": "share",
    "coin": "check",
    "check": "check",
    "hold": "train",
    "norm": "train",
    "initial": "train",
    "epoch": "train",
    "intercept": "train",
    "noise": "noise",
    "release": "release",
    "open": "release",
}
