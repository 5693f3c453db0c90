"""Rule `glue_scores`: the official metrics of a fine-tuned encoder, with an eraser active or none."""

from pathlib import Path

from scripts._rule import rule


def main(smk) -> None:
    with rule(smk) as facts:
        import pandas as pd

        from scripts.biasflow.base.tabular import read_text_csv
        from scripts.biasflow.encoders.device import resolve_device
        from scripts.biasflow.encoders.load import load_encoder
        from scripts.biasflow.erasers.eraser import load_erasers
        from scripts.biasflow.metrics.glue import glue_scores
        from scripts.biasflow.readouts.intrinsic import edits_of_method
        from scripts.biasflow.results.scores import tidy, write_scores
        from scripts.biasflow.tasks.glue.task import metric_task, predict, texts_and_labels

        device, task = resolve_device(smk.params.device), smk.wildcards.task
        facts["device"] = str(device)
        model, tokenizer = load_encoder(Path(smk.input.encoder[0]).parent, head="classification", device=device)
        edits = edits_of_method(load_erasers(smk.input.eraser), smk.params.layers) if smk.input.get("eraser") else ()
        texts, labels = texts_and_labels(task)
        examples = read_text_csv(smk.input.validation)
        predicted = predict(model, tokenizer, examples, texts=texts, edits=edits)
        gold = examples["label"] if labels else examples["label"].astype(float)
        scores = glue_scores(metric_task(task), gold.tolist(), predicted.tolist())
        rows = pd.DataFrame({"metric": scores.keys(), "value": scores.values()})
        keys = {"method": smk.wildcards.method, "setting": smk.params.layers, "strategy": smk.wildcards.when}
        keys |= {"task": f"glue:{task}", "encoder": smk.wildcards.encoder, "seed": smk.wildcards.seed}
        write_scores(tidy(rows, paper="densray", **keys), smk.output[0])


if "snakemake" in globals():
    main(snakemake)
