"""Addresses of a party's cluster: shares go only where the connection is authenticated, or stays on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from cofit.errors import InvalidInputError, TransportError
from cofit.roles.shards.cluster import Cluster, check_address, check_workers


@pytest.mark.parametrize(
    "address",
    [
        "tls://scheduler:8786",
        "tls://10.0.0.3:8786",
        "tls://[2001:db8::1]:8786",
        "tcp://127.0.0.1:8786",
        "tcp://127.4.5.6:8786",
        "tcp://localhost:8786",
        "tcp://[::1]:8786",
    ],
)
def test_addresses_that_are_taken(address: str) -> None:
    assert check_address(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "tcp://10.0.0.3:8786",
        "tcp://scheduler:8786",
        "tcp://0.0.0.0:8786",
        "tcp://[::]:8786",
        "tcp://[2001:db8::1]:8786",
        "tcp://127.0.0.1.example.org:8786",
        "tcp://localhost.example.org:8786",
        "tcp://:8786",
        "tcp://evil:1://127.0.0.1:8786",
    ],
)
def test_other_machines_are_reached_by_tls_alone(address: str) -> None:
    with pytest.raises(InvalidInputError, match="'--cluster' parameter of a party must be"):
        check_address(address)
    with pytest.raises(InvalidInputError):
        Cluster(address, None, Path("unused"))


@pytest.mark.parametrize(
    "address",
    [
        "",
        "scheduler:8786",
        "127.0.0.1:8786",
        "http://127.0.0.1:8786",
        "inproc://127.0.0.1:1",
        "ucx://127.0.0.1:8786",
        "ws://127.0.0.1:8786",
        "TCP://127.0.0.1:8786",
        "tls://scheduler",
        "tls://scheduler:",
        "tls://scheduler:port",
        "tls://:8786",
        "tls://scheduler:0",
        "tls://scheduler:65536",
        "tls://scheduler:\u0663",
        "tls://scheduler:\u00b2",
    ],
)
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(InvalidInputError, match=r"an address such as tls://scheduler:8786\. Got"):
        check_address(address)


def test_numbers_of_workers() -> None:
    assert check_workers(1) == 1 and check_workers(1024) == 1024
    for wrong in (0, -1, 1025):
        with pytest.raises(InvalidInputError, match="'--workers' parameter of a party must be an integer from 1 to"):
            check_workers(wrong)


# --- connections -----------------------------------------------------------------------------------------------------


class Client:
    """Of a cluster whose workers do not come back."""

    status, closed = "running", False

    def wait_for_workers(self, count: int, timeout: float) -> None:
        del count, timeout
        raise TimeoutError("only 0/1 workers arrived")

    def close(self, timeout: float) -> None:
        del timeout
        self.closed = True


def test_workers_of_this_machine_that_do_not_come_back_are_started_anew(tmp_path: Path) -> None:
    cluster, client, local = Cluster(None, 1, tmp_path), Client(), Client()
    cluster._client, cluster._local = cast("Any", client), local
    with pytest.raises(TransportError, match="has no workers"):
        cluster.shards("ab" * 32, "party-a", 2, 0.1)
    assert client.closed and local.closed and cluster._client is None and cluster._local is None


def test_a_cluster_elsewhere_is_asked_again(tmp_path: Path) -> None:
    cluster, client = Cluster("tcp://127.0.0.1:8786", None, tmp_path), Client()
    cluster._client = cast("Any", client)
    with pytest.raises(TransportError, match="has no workers"):
        cluster.shards("ab" * 32, "party-a", 2, 0.1)
    assert not client.closed and cluster._client is cast("Any", client)
