"""Coreference: which words of a document speak of the same person or thing (end-to-end, coarse-to-fine)."""
