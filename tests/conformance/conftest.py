from support.fixtures import mesh, parties, quick_pair, ring, scheme

__all__ = ["mesh", "parties", "quick_pair", "ring", "scheme"]
