"""Benchmarks: ratios measured in one run, medians of several repetitions, exact rounds and bytes."""
