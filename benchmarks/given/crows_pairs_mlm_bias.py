"""CrowS-Pairs by the package mlm-bias 0.1.7, in an environment of its own.

Arguments: the folder of an encoder, the output, the file of CrowS-Pairs, and how many of its pairs about gender are
read. The value of a pair is 1 if the package scores its more stereotyping sentence higher, otherwise 0.

The class BiasMLM builds its model from the configuration of the encoder (compute_mlm_bias.py, line 44): its weights are
random. Here it gets the real ones."""

import csv
import sys
from pathlib import Path

import torch
from mlm_bias import BiasMLM
from transformers import AutoModelForMaskedLM


class Pairs(list):
    """What BiasMLM takes for a dataset: bias type, first and second sentence."""

    def __getitem__(self, index):
        return ("gender", *super().__getitem__(index))


encoder, output, file, most = sys.argv[1:]
torch.set_num_threads(1)
with Path(file).open(encoding="utf-8", newline="") as table:
    rows = [row for row in csv.DictReader(table) if row["bias_type"] == "gender"]
pairs = [(row["sent_more"], row["sent_less"]) for row in rows[: int(most)]]
bias = BiasMLM(encoder, Pairs(pairs))
options = {"attn_implementation": "eager", "output_attentions": True, "output_hidden_states": True}
bias.model = AutoModelForMaskedLM.from_pretrained(encoder, **options).eval()
bias.evaluate(["csps"], attention=False)
more, less = (bias.eval_results[side]["csps"] for side in ("S1", "S2"))
lines = [f"{number},{int(a > b)}" for number, (a, b) in enumerate(zip(more, less, strict=True))]
Path(output).write_text("\n".join(["item,value", *lines]) + "\n", encoding="utf-8")
