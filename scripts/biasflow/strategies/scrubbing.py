"""Scrubbing: a training reads all rows of its part, in the text without words that reveal gender.

Source: De-Arteaga et al. (2019); the text is made with the data (text.scrub), so that nothing is left to do here."""

from biasflow.strategies.plain import rows as rows
