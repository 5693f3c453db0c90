"""Stimuli, the words and sentences shown to encoders, by their names in the configuration: from files or embedded."""
