"""Rule `representations`: the vectors of all biographies, as the classifier reads them."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.first_token import first_token_vectors
        from scripts.biasflow.encoders.load import load_encoder
        from scripts.biasflow.encoders.vectors import save_vectors
        from scripts.biasflow.files import whole_file
        from scripts.biasflow.tabular import read_parquet
        from scripts.biasflow.tasks.occupation import texts_of

        device = resolve_device(smk.params.device)
        model, tokenizer = load_encoder(Path(smk.input.encoder[0]).parent, head="none", device=device)
        texts = texts_of(read_parquet(smk.input.biographies), smk.wildcards.text)
        found = first_token_vectors(model, tokenizer, texts, max_length=smk.params.max_length)
        with whole_file(smk.output[0]) as path:
            save_vectors(found, path)
        facts |= {"device": str(device), "texts": len(texts), "truncated": found.truncated}


if "snakemake" in globals():
    main(snakemake)
