"""Recipe "paper", and "best" without a delta: minimise the objective, then add noise to the weights."""
