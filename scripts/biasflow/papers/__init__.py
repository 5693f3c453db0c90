"""The papers that are reproduced, one package each."""
