"""How training data or training is debiased."""
