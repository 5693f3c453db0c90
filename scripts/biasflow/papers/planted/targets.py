"""The targets made from a run for the judgement of the measures, by the names of paper.yaml.

It needs the scores of encoders and trained models whose biases are known, and what the untouched encoders'
next-sentence head says of single triples."""

from biasflow.papers.planted.calibration import (
    calibration,
    draw_calibration,
    draw_validity,
    erased,
    findings,
    two_by_two,
)
from biasflow.papers.planted.reading import read_directly

TABLES = {
    "findings": findings,
    "calibration": calibration,
    "two_by_two": two_by_two,
    "erased": erased,
    "reading": read_directly,
}
FIGURES = {"calibration": draw_calibration, "validity": draw_validity}
