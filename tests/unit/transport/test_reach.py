"""Addresses that mean whoever uses them, however they are written."""

from __future__ import annotations

import pytest

from cofit.transport import is_near


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.8.9.1", "::1", "localhost", "a.localhost", "0.0.0.0", "::", "169.254.169.254", "fe80::1%eth0",
     "::ffff:127.0.0.1", "::ffff:169.254.169.254", "224.0.0.1", "ff02::1"],
)  # fmt: skip
def test_addresses_of_this_machine_and_of_its_link(host: str) -> None:
    assert is_near(host)


@pytest.mark.parametrize("host", ["10.0.0.7", "192.168.1.2", "2001:db8::1", "::ffff:10.0.0.7", "a.example", "", "127"])
def test_addresses_of_other_machines_and_names(host: str) -> None:
    assert not is_near(host)
