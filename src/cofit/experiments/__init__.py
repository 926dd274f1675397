"""The paper's tables, for any data set: what is compared, how often, and with what spread."""
