"""Rule `random_encoder`: an encoder of the same architecture and vocabulary that was never trained."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.encoders.first_token import save_random_encoder
        from scripts.biasflow.files import whole_folder

        facts["seed"] = seed = int(smk.wildcards.seed)
        with whole_folder(Path(smk.output[0]).parent) as folder:
            save_random_encoder(Path(smk.input.encoder[0]).parent, folder, seed=seed)


if "snakemake" in globals():
    main(snakemake)
