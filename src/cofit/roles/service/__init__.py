"""What every long-running participant needs: doors, turns, and conversations with the others."""
