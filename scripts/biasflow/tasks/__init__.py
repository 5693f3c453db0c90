"""Downstream tasks: a package each, with its data, its training and what it predicts (protocol: tasks.training)."""

FACTS = "training.json"  # what a training says of itself, in the folder of its model
TOLD = "told_beside"  # in it: mean recalls of what a model predicts beside the label (finetune.mean_recall), by name
