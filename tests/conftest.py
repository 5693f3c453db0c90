"""No test is timed, those of hypothesis included: on a busy machine every deadline passes."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
