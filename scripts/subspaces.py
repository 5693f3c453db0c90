"""Rule `subspaces`: gender subspaces of one encoder at every place where the paper intervenes."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.files import whole_file
        from scripts.biasflow.base.tabular import write_csv
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.load import load_encoder
        from scripts.biasflow.methods.subspaces import fit_to_templates, save_subspaces, variance_table
        from scripts.biasflow.text.sentence_pairs import load_sentence_pairs

        device = resolve_device(smk.params.device)
        facts["device"] = str(device)
        model, tokenizer = load_encoder(Path(smk.input.encoder[0]).parent, head=smk.params.head, device=device)
        subspaces, pairs = fit_to_templates(
            model,
            tokenizer,
            load_sentence_pairs(smk.input.sentence_pairs),
            encoder=smk.wildcards.encoder,
            device=device,
            **smk.params.fitting,
        )
        with whole_file(smk.output.subspaces) as temporary:
            save_subspaces(subspaces, temporary)
        write_csv(variance_table(subspaces), smk.output.variance)
        write_csv(pairs, smk.output.pairs)


if "snakemake" in globals():
    main(snakemake)
