"""Dawkins et al. (2024): projective interventions in BERT's layers."""
