"""A client and a server in each ring; making keys takes a moment, so they are made once."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.sharing.pair.rlwe.client import Client
from cofit.sharing.pair.rlwe.parameters import Parameters, parameters_for
from cofit.sharing.pair.rlwe.server import Server


@pytest.fixture(scope="session", params=[64, 128])
def pair(request: pytest.FixtureRequest) -> tuple[Client, Server]:
    parameters = parameters_for(request.param)
    client = Client(parameters)
    return client, Server(parameters, client.key_message)


@pytest.fixture
def parameters(pair: tuple[Client, Server]) -> Parameters:
    return pair[0].parameters


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240601)
