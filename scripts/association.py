"""Rule `association`: association tests of words and sentences under every eraser."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.corpora.densray_sets import read_tests
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.load import load_encoder
        from scripts.biasflow.erasers.eraser import load_erasers
        from scripts.biasflow.readouts.intrinsic import association_scores, methods_of
        from scripts.biasflow.results.scores import tidy, write_scores

        device = resolve_device(smk.params.device)
        facts["device"] = str(device)
        model, tokenizer = load_encoder(Path(smk.input.encoder[0]).parent, head="none", device=device)
        erasers = {name: load_erasers(path) for name, path in zip(smk.params.layers, smk.input.erasers, strict=True)}
        word_tests, sentence_tests = read_tests(
            smk.params.tests, dict(zip(smk.params.files, smk.input.tests, strict=True))
        )
        scores = association_scores(
            model,
            tokenizer,
            word_tests,
            sentence_tests,
            methods_of(erasers, smk.params.layers),
            sentence_pooling=smk.params.sentence_pooling,
        )
        write_scores(tidy(scores, paper="densray", encoder=smk.wildcards.encoder), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
