"""No test is timed, those of hypothesis included: on a busy machine every deadline passes. Twenty examples a property
are enough for one run, as every run draws other ones."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None, max_examples=20)
settings.load_profile("untimed")
