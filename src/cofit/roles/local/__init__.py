"""Runs on this machine: in memory, as processes, or a rehearsal of a whole study."""
