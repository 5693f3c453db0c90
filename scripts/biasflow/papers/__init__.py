"""The papers that are reproduced: a package each."""
