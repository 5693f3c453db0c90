"""Rule `pretrain`: a BERT with masked-LM and next-sentence heads, trained from scratch."""

from _rule import by_role, rule

with rule(snakemake) as facts:
    from biasflow.base.files import whole_folder
    from biasflow.base.records import checkpoint_folder
    from biasflow.corpora.documents import read_documents
    from biasflow.encoders.device import named, resolve_deterministic, resolve_device
    from biasflow.training.pretrain import pretrain

    device = resolve_device(snakemake.params.device, gpus=snakemake.resources.gpu)
    facts["deterministic"] = resolve_deterministic(snakemake.params.deterministic, device)
    with whole_folder(snakemake.output[0]) as folder:
        texts = by_role(snakemake.input, ["texts"])["texts"]
        metrics = pretrain(
            [document for text in texts for document in read_documents(text)],
            folder,
            vocabulary=snakemake.input.get("vocabulary") or None,
            device=device.type,
            threads=snakemake.threads,
            work=checkpoint_folder(snakemake.output[0]),
            **snakemake.params.encoder,
        )
    facts |= {"device": named(device), "seed": snakemake.params.encoder["seed"], "metrics": metrics}
