"""Training and validation examples of one GLUE task, or the embedded pairs as one."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from biasflow.base.sample import sampled
from biasflow.base.tabular import write_csv
from biasflow.corpora.glue import read_glue
from biasflow.planted.nli import planted_parts

PLANTED = {"train": "train", "validation": "test"}  # embedded pairs: nothing is selected on the test part


def prepare(
    sources: Mapping[str, Sequence[Path]],
    outputs: Mapping[str, Path],
    *,
    data: str,
    planted: Mapping[str, object],
    limit: int | None = None,
) -> dict[str, object]:
    """Write the examples of train and validation. data: the task's name, or "planted-nli" with the options `planted` of
    `planted_parts`; limit: at most so many examples of each part."""
    if data == "planted-nli":
        parts, _ = planted_parts(**planted)
        for part, source in PLANTED.items():
            write_csv(sampled(parts[source], limit), outputs[part])
        return {}
    facts = {}
    for part, output in outputs.items():
        name = "validation_matched" if (data, part) == ("mnli", "validation") else part
        read = read_glue(data, name, sources[part])
        facts[part] = {"examples": len(read.examples), "dropped": read.dropped, "published": read.published}
        write_csv(sampled(read.examples, limit), output)
    return facts
