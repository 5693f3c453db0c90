"""Erasers: fit(...) returns an Eraser; Eraser.apply(h) removes a subspace from hidden states."""
