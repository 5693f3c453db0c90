"""The embedded corpus: English with a known amount of gender bias."""
