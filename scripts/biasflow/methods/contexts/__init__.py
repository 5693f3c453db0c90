"""Gendered words in running text: where they occur, their hidden states, and the erasers fitted to these (paper A)."""
