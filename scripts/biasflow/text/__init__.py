"""Text operations: gender swapping, sentence pairs."""
