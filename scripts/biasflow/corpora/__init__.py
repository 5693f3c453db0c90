"""Readers of the corpora in their real file formats, and their download and verification."""
