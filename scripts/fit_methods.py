"""Rule `fit_methods`: all methods of a block, fitted to one model, or to its encoder before training."""

import importlib

from _rule import by_role, model_folder, rule


def main(smk) -> None:
    with rule(smk) as facts:
        from biasflow.base.files import whole_file, whole_folder
        from biasflow.base.tabular import write_csv
        from biasflow.encoders.device import resolve_device
        from biasflow.encoders.load import load_with_sentence_vector
        from biasflow.methods.fitted import save
        from biasflow.methods.fitting import fit_block, fitting_arguments

        fit, heads = smk.params.fit, smk.params.fit["heads"]
        facts["device"] = device = str(resolve_device(smk.params.device, gpus=smk.resources.gpu))
        files = by_role(smk.input, fit["roles"])
        folder, training = model_folder(smk.input.model), smk.wildcards.training
        model, tokenizer = load_with_sentence_vector(folder, training, head=heads["model"], device=device)
        arguments = fitting_arguments(fit, files)
        if smk.input.get("origin"):
            folder = model_folder(smk.input.origin)
            arguments["origin"], _ = load_with_sentence_vector(folder, head=heads["pretrained"], device=device)
        if task := fit.get("task"):
            module, data = importlib.import_module(task["module"]), {role: files[role] for role in task["roles"]}
            arguments["task"] = module.gendered_vectors(model, tokenizer, data, **task["options"])
        fitted = fit_block(model, tokenizer, **arguments)
        with whole_folder(smk.output.about) as folder:
            for name, table in fitted.tables.items():
                write_csv(table, folder / f"{name}.csv")
        with whole_file(smk.output.methods) as temporary:
            save(fitted, temporary)
        facts |= fitted.facts


if "snakemake" in globals():
    main(snakemake)
