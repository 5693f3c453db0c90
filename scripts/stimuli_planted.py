"""Rule `stimuli_planted`: the embedded StereoSet-like triples with their gender-swapped copies."""

from _rule import rule
from biasflow.base.tabular import write_csv
from biasflow.planted.stereoset import triples


def main(smk) -> None:
    with rule(smk) as facts:
        facts["seed"] = smk.params.seed
        write_csv(triples(seed=smk.params.seed, n=smk.params.triples, seen=smk.params.seen), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
