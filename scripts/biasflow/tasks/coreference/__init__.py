"""Coreference: which words of a document speak of the same person or thing (end-to-end, coarse-to-fine).

To be read in this order: segments (documents in pieces), spans (candidates, pruning), scorer (scores of spans and
pairs), decisions (loss, clusters), model (encoder and scorer together, prediction), loop (training), task (the training
of the workflow), heads (scorers trained anew on a frozen encoder). strategies: debiased documents; f1: metrics; rules:
a baseline that learns nothing."""
