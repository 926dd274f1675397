"""Targets: what is predicted, one file each. A loss says which one it is for, and so does a plan."""

from cofit.learn.targets.count import MOST_COUNT, Count
from cofit.learn.targets.number import NUMBER, Number
from cofit.learn.targets.several_classes import MOST_CLASSES, SeveralClasses
from cofit.learn.targets.target import Target
from cofit.learn.targets.two_classes import TWO_CLASSES, TwoClasses

__all__ = [
    "MOST_CLASSES",
    "MOST_COUNT",
    "NUMBER",
    "TWO_CLASSES",
    "Count",
    "Number",
    "SeveralClasses",
    "Target",
    "TwoClasses",
]
