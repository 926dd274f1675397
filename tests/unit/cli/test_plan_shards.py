"""``cofit plan --shards``: what it tells of heads, shards and workers, and what it refuses."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from cofit.cli.main import cli
from cofit.errors import InvalidInputError
from cofit.learn.facts import training_facts
from cofit.learn.forecast import forecast
from cofit.learn.plan import plan_training

MANY = ["plan", "--rows", "100000000", "--cols", "1000"]
DIVIDED = [*MANY, "--shards", "100", "--workers", "100", "--cores", "4", "--latency", "0.001", "--line", "10000"]


def told(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments, env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.output


def test_a_hundred_million_rows_on_a_hundred_machines() -> None:
    text = told(*DIVIDED)
    for name in ("shards", "memory of a shard", "memory of a head", "session of a shard", "session of the heads"):
        assert f"  {name} " in text, name
    assert "memory of a party" not in text
    assert "100 workers of each party, with 4 cores each" in text
    assert "10000 Mb/s of each of them" in text


def test_json_is_the_forecast() -> None:
    found = json.loads(told(*DIVIDED, "--json"))
    plan = plan_training(training_facts(10**8, 1000, shards=100))
    cost = forecast(plan, latency=0.001, line=1.25e9, workers=100, cores=4)
    assert found["hash"] == plan.hash
    assert found["shards"] == 100
    assert found["forecast"] == json.loads(json.dumps(cost.to_dict()))
    shards = found["forecast"]["shards"]
    assert (shards["count"], shards["workers"], shards["cores"]) == (100, 100, 4)
    assert set(shards) == {"count", "workers", "cores", "heads", "shard", "shard_multiply_adds", "head_memory"}


def test_without_shards_nothing_is_said_of_them() -> None:
    text = told("plan", "--rows", "1000", "--cols", "5")
    assert "shard" not in text
    assert "memory of a party" in text
    assert "shards" not in json.loads(told("plan", "--rows", "1000", "--cols", "5", "--json"))["forecast"]


def test_without_workers_everything_is_on_one_machine() -> None:
    text = told("plan", "--rows", "1000", "--cols", "5", "--shards", "4", "--processors", "6")
    assert "6 cores of all parties together" in text


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--shards", "0"], "'shards' parameter of a plan must be an integer from 1 to 4096"),
        (["--shards", "2", "--recipe", "paper"], "only noisy descent divides rows among shards"),
        (["--shards", "800"], "'shards' parameter of a forecast must be at most 500, the rows of 'owner-0'"),
        (["--workers", "2"], "'workers' parameter of forecast must be left out"),
        (["--shards", "2", "--cores", "2"], "'--cores' parameter of a forecast must be left out without --workers"),
        (["--shards", "2", "--memory", "50MB"], "the head of a party needs that"),
    ],
)
def test_what_is_refused(arguments: list[str], why: str) -> None:
    result = CliRunner().invoke(cli, ["plan", "--rows", "1000", "--cols", "5", *arguments])
    assert isinstance(result.exception, InvalidInputError)
    assert why in str(result.exception)
