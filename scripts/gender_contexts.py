"""Rule `gender_contexts`: gendered words in running text, their hidden states, and how much gender each place holds."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.tabular import write_csv
        from scripts.biasflow.corpora.documents import read_sentences
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.load import load_encoder
        from scripts.biasflow.methods.contexts.extraction import hidden_states
        from scripts.biasflow.methods.contexts.gender_shares import gender_shares
        from scripts.biasflow.methods.contexts.occurrences import find_occurrences_for
        from scripts.biasflow.methods.contexts.places import gender_places
        from scripts.biasflow.results.scores import tidy, write_scores
        from scripts.biasflow.text.gendered_words import read_gendered_words

        device = resolve_device(smk.params.device)
        facts["device"] = str(device)
        contexts = dict(smk.params.contexts)
        batch_size = contexts.pop("batch_size")
        model, tokenizer = load_encoder(Path(smk.input.encoder[0]).parent, head="none", device=device)
        sentences = read_sentences(smk.input.text)
        masculine, feminine = read_gendered_words(smk.params.words, smk.input.words)
        occurrences = find_occurrences_for(model, tokenizer, sentences, masculine, feminine, **contexts)
        facts |= {"words_left_out": list(occurrences.left_out), "sentences_read": occurrences.sentences_read}
        states = hidden_states(
            model,
            tokenizer,
            sentences,
            occurrences,
            places=gender_places(model),
            batch_size=batch_size,
            device=device,
            path=smk.output.states,
        )
        write_csv(occurrences.table, smk.output.occurrences)
        write_csv(occurrences.counts, smk.output.counts)
        shares = gender_shares(states).rename(columns={"place": "setting", "head": "variant", "share": "value"})
        keys = {"task": "gender_share", "encoder": smk.wildcards.encoder, "method": "none", "metric": "gender_share"}
        write_scores(tidy(shares, paper="densray", **keys), smk.output.shares)


if "snakemake" in globals():
    main(snakemake)
