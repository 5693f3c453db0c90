"""What is read from a model under methods, one module per readout."""
