"""The configuration, and what it asks for. Imports no torch."""
