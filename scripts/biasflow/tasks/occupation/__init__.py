"""Occupation prediction from biographies."""
