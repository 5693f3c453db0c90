"""Downstream tasks: a package each, with its data, its training and what it predicts (protocol: tasks.training)."""

FACTS = "training.json"  # the record of a training, in the folder of its model
TOLD = "told_beside"  # in it: mean recalls of what is predicted besides the label (finetune.mean_recall), by name
