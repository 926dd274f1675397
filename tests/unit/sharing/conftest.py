from support.fixtures import mesh, parties, ring, scheme

__all__ = ["mesh", "parties", "ring", "scheme"]
