"""The demo's study: the breast-cancer data of scikit-learn, split between two hospitals."""

from __future__ import annotations

from dataclasses import dataclass

from cofit.experiments.breast_cancer import Labels, Reals, breast_cancer
from cofit.roles.local.tables import OwnerTable

_HELD_OUT = 0.25
_COLUMNS_OF_A = 10  # the means; hospital-b has the errors and the worst values


@dataclass(frozen=True, repr=False)
class DemoData:
    """Scaled features and labels (0 and 1, for ``CLASSES``): rows to train on, and rows held out."""

    features: Reals
    labels: Labels
    held_out: Reals
    held_out_labels: Labels

    def owners(self, partition: str) -> dict[str, OwnerTable]:
        """Return what each hospital holds: half of the patients, or some of the columns of all of them."""
        if partition == "vertical":
            return {
                "hospital-a": OwnerTable(self.features[:, :_COLUMNS_OF_A], self.labels),
                "hospital-b": OwnerTable(self.features[:, _COLUMNS_OF_A:]),
            }
        half = len(self.features) // 2
        return {
            "hospital-a": OwnerTable(self.features[:half], self.labels[:half]),
            "hospital-b": OwnerTable(self.features[half:], self.labels[half:]),
        }


def demo_data(seed: int) -> DemoData:
    """Return the data, split at random into rows to train on (three quarters) and rows held out."""
    from sklearn.model_selection import train_test_split  # noqa: PLC0415 - takes a second to import

    rows, classes = breast_cancer()
    parts = train_test_split(rows, classes, test_size=_HELD_OUT, random_state=seed, stratify=classes)
    features, held_out, labels, held_out_labels = parts
    return DemoData(features, labels, held_out, held_out_labels)
