"""A study between network namespaces: every party has its own address on a bridge, and no loopback in common."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from support.nursery import environment
from support.studies import PARTIES, Lab

MakeLab = Callable[..., Lab]


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")


@dataclass(frozen=True)
class Network:
    """A bridge with one namespace for each party; this process is at .254 of the same network."""

    hosts: tuple[str, ...]
    namespaces: tuple[str, ...]
    delayed: bool


@pytest.fixture
def network() -> Iterator[Network]:
    tag = f"{os.getpid() % 100_000}"
    prefix = f"10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}"
    bridge, delayed = f"cb{tag}", True
    names = tuple(f"cofit{tag}{letter}" for letter in "abc")
    with contextlib.ExitStack() as stack:
        try:
            run("ip", "link", "add", bridge, "type", "bridge")
            stack.callback(subprocess.run, ["ip", "link", "del", bridge], capture_output=True)
            run("ip", "addr", "add", f"{prefix}.254/24", "dev", bridge)
            run("ip", "link", "set", bridge, "up")
            for number, name in enumerate(names, start=1):
                inner, outer = f"ci{tag}{number}", f"co{tag}{number}"
                run("ip", "netns", "add", name)
                stack.callback(subprocess.run, ["ip", "netns", "del", name], capture_output=True)
                run("ip", "link", "add", outer, "type", "veth", "peer", "name", inner)
                run("ip", "link", "set", inner, "netns", name)
                run("ip", "link", "set", outer, "master", bridge)
                run("ip", "link", "set", outer, "up")
                run("ip", "-n", name, "addr", "add", f"{prefix}.{number}/24", "dev", inner)
                run("ip", "-n", name, "link", "set", inner, "up")
                run("ip", "netns", "exec", name, "true")
                try:
                    run("tc", "-n", name, "qdisc", "add", "dev", inner, "root", "netem", "delay", "10ms")
                except OSError:
                    delayed = False
        except OSError as error:
            pytest.skip(f"network namespaces cannot be made here: {error}")
        yield Network(tuple(f"{prefix}.{number}" for number in (1, 2, 3)), names, delayed)


def test_a_study_between_namespaces(
    make_lab: MakeLab, network: Network, record_property: Callable[[str, object], None]
) -> None:
    lab = make_lab(hosts=network.hosts)
    record_property("delay of 10 ms", network.delayed)
    command = [sys.executable, "-m", "cofit.cli.main"]
    with contextlib.ExitStack() as stack:
        for namespace, party in zip(network.namespaces, PARTIES, strict=True):
            folder = lab.root / party
            log = stack.enter_context((folder / "party.log").open("wb"))
            arguments = ["party", "study.toml", "--name", party, "--key", f"{party}.key", "--state", "state"]
            process = subprocess.Popen(
                ["ip", "netns", "exec", namespace, *command, *arguments],
                cwd=folder,
                stdout=log,
                stderr=log,
                env=environment(),
            )
            stack.callback(process.wait, 20)
            stack.callback(process.terminate)
        lab.contribute_all()
        lab.wait_released()
        lab.check_one_release()
