from support.study_fixtures import make_lab, nursery

__all__ = ["make_lab", "nursery"]
