"""Encoders: loading, pre-training, named places (taps), edits, and many edits in one pass (sweep)."""
