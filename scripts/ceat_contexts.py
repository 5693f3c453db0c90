"""Rule `ceat_contexts`: where the words of the contextualised association tests occur, for an encoder's vocabulary."""

from _rule import model_folder, rule

with rule(snakemake) as facts:
    from biasflow.base.tabular import write_csv, write_parquet
    from biasflow.corpora.documents import read_texts
    from biasflow.corpora.wikipedia import ENGLISH_WIKIPEDIA, read_paragraphs
    from biasflow.corpora.word_sets import read_word_sets
    from biasflow.encoders.batches import longest_input
    from biasflow.encoders.load import load_encoder
    from biasflow.readouts.word_contexts import find_word_contexts
    from biasflow.stimuli.ceat_sets import ceat_tests, words_of

    read = read_paragraphs if snakemake.params.text == ENGLISH_WIKIPEDIA else read_texts
    if snakemake.input.get("own"):
        tests = [read_word_sets(snakemake.input.own, snakemake.wildcards.words, single=True)]
    else:
        tests = ceat_tests(snakemake.params.tests, snakemake.input.words).values()
    model, tokenizer = load_encoder(model_folder(snakemake.input.encoder), head="none")
    contexts = find_word_contexts(
        tokenizer,
        map(read, snakemake.input.text),  # a file is opened when those before it are read
        words_of(tests),
        per_word=snakemake.params.per_word,
        seed=snakemake.params.seed,
        max_length=min(128, longest_input(model, tokenizer)),
    )
    write_parquet(contexts.table, snakemake.output.contexts)
    write_csv(
        contexts.counts.assign(wanted=snakemake.params.per_word, text=snakemake.params.text), snakemake.output.counts
    )
    facts |= {"seed": snakemake.params.seed, "files": contexts.parts, "texts": contexts.texts}
    facts |= {"words_without_context": list(contexts.dropped)}
