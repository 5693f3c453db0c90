"""How encoders and models are trained: one loop (`loop`), and what differs between trainings, a module each."""

FACTS = "training.json"  # the record of a training, in the folder of its model
# Imported by name, so that an edit of how methods are fitted runs no training again that has none.
FITTING = "biasflow.methods.fitting"
BEST, LAST = "best", "last"  # which epoch of a training is kept
TOLD = "told_beside"  # in it: mean recalls of what is predicted besides the label (finetune.mean_recall), by name
