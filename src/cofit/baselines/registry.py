"""The methods by name."""

from __future__ import annotations

from cofit.baselines.as_published import AsPublished, AveragedAsPublished, FederatedAsPublished
from cofit.baselines.averaged import Jayaraman, Pathak
from cofit.baselines.central import CentralNoPrivacy, CentralOutput
from cofit.baselines.central_objective import CentralObjective
from cofit.baselines.federated_dpsgd import FederatedDPSGD
from cofit.baselines.federated_objective import FederatedObjective
from cofit.baselines.federated_output import FederatedOutput
from cofit.baselines.method import Method

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        CentralNoPrivacy,
        CentralOutput,
        CentralObjective,
        FederatedOutput,
        FederatedObjective,
        FederatedDPSGD,
        Pathak,
        Jayaraman,
        AsPublished,
        FederatedAsPublished,
        AveragedAsPublished,
    )
}
