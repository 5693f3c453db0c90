"""Downstream tasks: a package each, with its data, its training and what it predicts (protocol: training.task)."""
