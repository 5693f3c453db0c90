"""What is made of a run for the judgement of the measures, by the names of paper.yaml.

It needs the scores of the untouched encoders and, of the run's names, the attributes bias and seed of each encoder."""

from scripts.biasflow.papers.planted.calibration import calibration, draw_calibration

TABLES = {"calibration": calibration}
FIGURES = {"calibration": draw_calibration}
