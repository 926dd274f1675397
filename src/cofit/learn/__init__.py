"""Training: the plan, normalisation (pi_NORM), gradient descent (pi_LR) and the release of the noisy weights."""
