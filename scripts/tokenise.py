"""Rules `tokenise_<kind>`: tokens of a task's texts, for all trainings and readings of an encoder that take them."""

import importlib

from _rule import by_role, model_folder, rule

with rule(snakemake) as facts:
    from biasflow.encoders.batches import shortened
    from biasflow.encoders.load import load_encoder
    from biasflow.encoders.tokens import save_tokens

    options = snakemake.params.tokenise
    data = by_role(snakemake.input, options["roles"])
    texts = importlib.import_module(options["module"]).texts(data, snakemake.wildcards.text)
    model, tokenizer = load_encoder(model_folder(snakemake.input.encoder), head="none")
    limit = shortened(options["max_length"], model, tokenizer)
    tokens = save_tokens(snakemake.output[0], tokenizer, texts, max_length=limit)
    facts |= {"texts": len(tokens), "tokens": int(tokens.bounds[-1]), "cut": int(tokens.cut.sum())}
