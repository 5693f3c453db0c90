"""Rule `pretrain`: a BERT with masked-LM and next-sentence heads, trained from scratch."""

from _rule import by_role, rule


def main(smk) -> None:
    with rule(smk) as facts:
        from biasflow.base.files import whole_folder
        from biasflow.base.records import checkpoint_folder
        from biasflow.corpora.documents import read_documents
        from biasflow.encoders.device import resolve_deterministic, resolve_device
        from biasflow.training.pretrain import pretrain

        device = resolve_device(smk.params.device, gpus=smk.resources.gpu)
        facts["deterministic"] = resolve_deterministic(smk.params.deterministic, device)
        with whole_folder(smk.output[0]) as folder:
            texts = by_role(smk.input, ["texts"])["texts"]
            metrics = pretrain(
                [document for text in texts for document in read_documents(text)],
                folder,
                vocabulary=smk.input.get("vocabulary") or None,
                device=device.type,
                threads=smk.threads,
                work=checkpoint_folder(smk.output[0]),
                **smk.params.encoder,
            )
        facts |= {"device": str(device), "seed": smk.params.encoder["seed"], "metrics": metrics}


if "snakemake" in globals():
    main(snakemake)
