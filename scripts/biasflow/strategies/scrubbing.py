"""Scrubbing: a training sees the rows of its part as they are, but of the text without words that tell gender.

Source: De-Arteaga et al. (2019); the text is made with the data (text.scrub), so that nothing is left to do here."""

from biasflow.strategies.plain import rows as rows
