"""Rule `occtmp`: the pronouns that an encoder expects beside occupations, under every eraser."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.corpora.densray_sets import read_occupation_sets
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.load import load_encoder
        from scripts.biasflow.erasers.eraser import load_erasers
        from scripts.biasflow.readouts.intrinsic import methods_of, occtmp_scores, one_layer_at_a_time
        from scripts.biasflow.results.scores import tidy, write_scores

        device = resolve_device(smk.params.device)
        facts["device"] = str(device)
        model, tokenizer = load_encoder(Path(smk.input.encoder[0]).parent, head="masked_lm", device=device)
        erasers = {name: load_erasers(path) for name, path in zip(smk.params.layers, smk.input.erasers, strict=True)}
        methods = methods_of(erasers, smk.params.layers)
        if smk.params.by_layer and "densray" in erasers:
            methods += one_layer_at_a_time("densray", erasers["densray"])
        files = dict(zip(smk.params.files, smk.input.occupations, strict=True))
        sets = read_occupation_sets(smk.params.sets, files, smk.params.own)
        scores = occtmp_scores(model, tokenizer, sets, methods)
        write_scores(tidy(scores, paper="densray", encoder=smk.wildcards.encoder), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
