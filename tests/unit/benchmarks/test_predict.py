"""The benchmark of private predictions, small."""

from __future__ import annotations

from cofit.benchmarks.predict import measure_predict


def test_it_answers_in_batches_and_counts() -> None:
    found = measure_predict(rows=40, cols=5, repetitions=1, answers="scores")
    assert (found.rows, found.cols, found.batches, found.scheme) == (40, 5, 1, "rep3")
    assert found.seconds >= found.seconds_answer > 0 and found.kernel_seconds > 0
    assert found.rounds_of_a_batch > 10 and found.bytes_of_a_batch > 1000 and 0 < found.error < 1e-3
