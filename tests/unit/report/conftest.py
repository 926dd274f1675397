from support.plots import plots_are_drawn_once

__all__ = ["plots_are_drawn_once"]
