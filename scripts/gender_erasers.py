"""Rule `gender_erasers`: an eraser fitted at every layer to gendered words in context."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.files import whole_file
        from scripts.biasflow.corpora.documents import read_sentences
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.load import load_encoder
        from scripts.biasflow.erasers.eraser import save_erasers
        from scripts.biasflow.methods.contexts.fitting import fit_layers, fit_layers_sequential
        from scripts.biasflow.methods.contexts.occurrences import find_occurrences_for
        from scripts.biasflow.methods.contexts.places import every_layer
        from scripts.biasflow.methods.contexts.states import load_states
        from scripts.biasflow.text.gendered_words import read_gendered_words

        device = resolve_device(smk.params.device)
        facts["device"] = str(device)
        model, tokenizer = load_encoder(Path(smk.input.encoder[0]).parent, head="none", device=device)
        fit = {"places": every_layer(model), "eraser": smk.wildcards.method, "options": smk.params.options}
        if smk.params.sequential:
            contexts = dict(smk.params.contexts)
            batch_size = contexts.pop("batch_size")
            sentences = read_sentences(smk.input.text)
            words = read_gendered_words(smk.params.words, smk.input.words)
            occurrences = find_occurrences_for(model, tokenizer, sentences, *words, **contexts)
            states = {"batch_size": batch_size, "device": device}
            fitted = fit_layers_sequential(model, tokenizer, sentences, occurrences, **fit, **states)
        else:
            fitted = fit_layers(load_states(smk.input.states), **fit)
        with whole_file(smk.output[0]) as temporary:
            save_erasers(fitted, temporary)


if "snakemake" in globals():
    main(snakemake)
