"""Recipe "best": noisy gradient descent on secret data, with one account of all its releases."""
