"""Rule `fit_methods`: all methods of a block, fitted to one model, or to its encoder before training."""

from _rule import by_role, model_folder, rule

with rule(snakemake) as facts:
    from biasflow.base.by_name import module_named
    from biasflow.base.files import whole_folder
    from biasflow.base.tabular import write_csv
    from biasflow.encoders.device import named, resolve_device
    from biasflow.encoders.load import load_with_sentence_vector
    from biasflow.methods.fitted import save
    from biasflow.methods.fitting import fit_block, fitting_arguments

    fit, heads = snakemake.params.fit, snakemake.params.fit["heads"]
    device = resolve_device(snakemake.params.device, gpus=snakemake.resources.gpu)
    facts["device"] = named(device)
    files = by_role(snakemake.input, fit["roles"])
    folder, training = model_folder(snakemake.input.model), snakemake.wildcards.training
    model, tokenizer = load_with_sentence_vector(folder, training, head=heads["model"], device=device)
    arguments = fitting_arguments(fit, files)
    if snakemake.input.get("origin"):
        folder = model_folder(snakemake.input.origin)
        arguments["origin"], _ = load_with_sentence_vector(folder, head=heads["pretrained"], device=device)
    if task := fit.get("task"):
        module, data = module_named(task["module"]), {role: files[role] for role in task["roles"]}
        arguments["task"] = {
            place: module.gendered_vectors(model, tokenizer, data, **options)
            for place, options in task["places"].items()
        }
    fitted = fit_block(model, tokenizer, **arguments)
    with whole_folder(snakemake.output.about) as folder:
        for name, table in fitted.tables.items():
            write_csv(table, folder / f"{name}.csv")
    save(fitted, snakemake.output.methods)
    facts |= fitted.facts
