"""Rule `representations`: the vectors of all biographies, as the classifier reads them."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.first_token import first_token_vectors
        from scripts.biasflow.encoders.vectors import save_vectors
        from scripts.biasflow.files import whole_file
        from scripts.biasflow.tabular import read_parquet
        from scripts.biasflow.tasks.occupation import texts_of
        from scripts.biasflow.tasks.occupation_encoders import probed_encoder

        device = resolve_device(smk.params.device)
        model, tokenizer = probed_encoder(Path(smk.input.encoder[0]).parent, smk.wildcards.model, device=device)
        biographies = read_parquet(smk.input.biographies)
        found = {
            text: first_token_vectors(model, tokenizer, texts_of(biographies, text), max_length=smk.params.max_length)
            for text in smk.params.texts
        }
        with whole_file(smk.output[0]) as path:
            save_vectors(found, path)
        truncated = {text: each.truncated for text, each in found.items()}
        facts |= {"device": str(device), "biographies": len(biographies), "truncated": truncated}


if "snakemake" in globals():
    main(snakemake)
