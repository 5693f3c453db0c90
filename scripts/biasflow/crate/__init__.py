"""A run as a Workflow Run RO-Crate, made of the records beside its results: `biasflow crate RUN`."""
