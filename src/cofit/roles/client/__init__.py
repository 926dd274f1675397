"""A client of a study: shares rows with the parties, and alone reads what they answer."""
