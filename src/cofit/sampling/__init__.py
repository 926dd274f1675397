"""Secret random draws: nobody learns any of them. One file a distribution."""
