"""Gendered words in running text: where they occur, and their hidden states (paper A)."""
