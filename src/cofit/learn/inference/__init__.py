"""Scores of a client's rows, computed by the parties: on shares of the rows, with weights that are shared or public."""
