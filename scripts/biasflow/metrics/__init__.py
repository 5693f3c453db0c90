"""Metrics: pure functions on arrays."""
