"""Rule `densray_sentences`: sentences whose tokens are coloured by their DensRay score, as a page."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        from scripts.biasflow.base.files import whole_file
        from scripts.biasflow.corpora.documents import read_sentences
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.load import load_encoder
        from scripts.biasflow.erasers.eraser import load_erasers
        from scripts.biasflow.papers.liang2020.figures import ScoredSentence, sentences_page
        from scripts.biasflow.readouts.intrinsic import ALL, edits_of_method, token_scores
        from scripts.biasflow.readouts.losses import sample_sentences

        device = resolve_device(smk.params.device)
        facts["device"] = str(device)
        model, tokenizer = load_encoder(Path(smk.input.encoder[0]).parent, head="none", device=device)
        place, eraser = edits_of_method(load_erasers(smk.input.eraser), ALL)[-1]
        chosen = sample_sentences(read_sentences(smk.input.text), smk.params.sentences, seed=0)
        scored = [ScoredSentence(*each) for each in token_scores(model, tokenizer, chosen, place, eraser)]
        scored.sort(key=lambda sentence: sentence.score)
        title = f"DensRay scores of {smk.wildcards.encoder}, {place}"
        with whole_file(smk.output[0]) as temporary:
            temporary.write_text(sentences_page(scored, title=title), encoding="utf-8")


if "snakemake" in globals():
    main(snakemake)
