"""The GLUE tasks."""
