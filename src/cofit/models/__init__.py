"""Trained models and their scikit-learn face."""
