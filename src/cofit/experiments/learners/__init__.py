"""Learners beside two classes, measured on data sets of their own: table 10.

A ``Problem`` is a data set with a figure of merit and the ways to learn it that are compared. Another one is an object
in the list of its file, and a line in ``PROBLEMS``.
"""
