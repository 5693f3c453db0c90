"""Rule `occupation_log_odds`: she against he by occupation, and how it follows the planted shares of women."""

from pathlib import Path

import pandas as pd

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.tabular import write_csv
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.load import load_encoder
        from scripts.biasflow.planted.judge import agreement_with_world
        from scripts.biasflow.planted.world import load_world
        from scripts.biasflow.readouts.masked_words import she_he_log_odds
        from scripts.biasflow.results.scores import tidy, write_scores

        device = resolve_device(smk.params.device)
        facts["device"] = str(device)
        world = load_world()
        model, tokenizer = load_encoder(Path(smk.input.encoder[0]).parent, head="pretraining", device=device)
        log_odds = she_he_log_odds(model, tokenizer, world.occupations)
        shares = log_odds["occupation"].map(world.shares)
        write_csv(log_odds.assign(share_of_women=shares), smk.output.occupations)
        measured = pd.Series(agreement_with_world(log_odds, world.shares), name="value")
        scores = measured.rename_axis("metric").reset_index()
        keys = {
            "paper": "planted",
            "task": "occupations",
            "encoder": smk.wildcards.encoder,
            "seed": str(smk.params.seed),
        }
        write_scores(tidy(scores, **keys), smk.output.scores)


if "snakemake" in globals():
    main(snakemake)
