"""The paper's tables, each a function from questions to a finished table."""
