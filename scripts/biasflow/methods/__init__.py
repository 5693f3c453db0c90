"""Which erasers act where: fitting them to a model, and running a model under them."""
