"""Rules `finetune_<kind>`: an encoder fine-tuned on a task, resumable after a kill."""

import shutil
from pathlib import Path

from _rule import by_role, model_folder, rule

with rule(snakemake) as facts:
    from biasflow.base.by_name import module_named
    from biasflow.base.files import whole_file
    from biasflow.base.records import checkpoint_folder
    from biasflow.encoders.device import named, resolve_deterministic, resolve_device
    from biasflow.training import FACTS, FITTING

    training, device = snakemake.params.training, resolve_device(snakemake.params.device, gpus=snakemake.resources.gpu)
    facts["deterministic"] = resolve_deterministic(snakemake.params.deterministic, device)
    method = None
    if training["fit"]:
        roles = [role for role in ("text", "words", "sentence_pairs") if snakemake.input.get(role)]
        method = module_named(FITTING).fitting_arguments(training["fit"], by_role(snakemake.input, roles))
    metrics = module_named(training["module"]).train(
        model_folder(snakemake.input.encoder),
        Path(snakemake.output.model),
        checkpoint_folder(snakemake.output.model),
        by_role(snakemake.input, training["roles"]),
        device=device.type,
        method=method,
        **training["options"],
    )
    with whole_file(snakemake.output.training) as temporary:
        shutil.copyfile(Path(snakemake.output.model, FACTS), temporary)
    facts |= {"device": named(device), "seed": int(snakemake.wildcards.seed), "metrics": metrics}
