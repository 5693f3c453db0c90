"""The one page of a run, and its summary in ten lines."""
