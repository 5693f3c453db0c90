"""Rules `finetune_<kind>`: an encoder fine-tuned on a task, resumable after a kill."""

import importlib
import shutil
from pathlib import Path

from _rule import by_role, model_folder, rule


def main(smk) -> None:
    with rule(smk) as facts:
        from biasflow.base.files import whole_file
        from biasflow.base.records import checkpoint_folder
        from biasflow.encoders.device import resolve_deterministic, resolve_device
        from biasflow.training import FACTS, FITTING

        training, device = smk.params.training, resolve_device(smk.params.device, gpus=smk.resources.gpu)
        facts["deterministic"] = resolve_deterministic(smk.params.deterministic, device)
        method = None
        if training["fit"]:
            roles = [role for role in ("text", "words", "sentence_pairs") if smk.input.get(role)]
            method = importlib.import_module(FITTING).fitting_arguments(training["fit"], by_role(smk.input, roles))
        metrics = importlib.import_module(training["module"]).train(
            model_folder(smk.input.encoder),
            Path(smk.output.model),
            checkpoint_folder(smk.output.model),
            by_role(smk.input, training["roles"]),
            device=device.type,
            method=method,
            **training["options"],
        )
        with whole_file(smk.output.training) as temporary:
            shutil.copyfile(Path(smk.output.model, FACTS), temporary)
        facts |= {"device": str(device), "seed": int(smk.wildcards.seed), "metrics": metrics}


if "snakemake" in globals():
    main(snakemake)
