"""Liang, Dufter and Schuetze (2020): DensRay, hard debiasing, conceptors."""
