"""``shamir``: polynomial sharing among three to seven parties, passive security, honest majority."""
