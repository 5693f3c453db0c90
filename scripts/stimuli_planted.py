"""Rule `stimuli_planted`: the embedded StereoSet-like triples with their gender-swapped copies."""

from _rule import rule
from biasflow.base.tabular import write_csv
from biasflow.planted.stereoset import triples

with rule(snakemake) as facts:
    facts["seed"] = snakemake.params.seed
    write_csv(
        triples(seed=snakemake.params.seed, n=snakemake.params.triples, seen=snakemake.params.seen), snakemake.output[0]
    )
