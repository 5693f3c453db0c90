"""Run in an environment of its own: scores of mlm-bias 0.1.7 for pairs of sentences, as JSON.

Arguments: the folder of an encoder, and a JSON file with pairs of sentences. The class BiasMLM builds its model from
the configuration of the encoder (compute_mlm_bias.py, line 44): its weights are random. Here it gets the real ones."""

import contextlib
import json
import sys
import time
from pathlib import Path

import torch
from mlm_bias import BiasMLM, compute_mlm_bias
from transformers import AutoModelForMaskedLM

torch.set_num_threads(1)
MEASURES = ("csps", "sss", "crr", "dp", "aul")


class Pairs(list):
    """What BiasMLM takes for a dataset: bias type, first and second sentence."""

    def __getitem__(self, index):
        return ("gender", *super().__getitem__(index))


def scores(encoder: str, pairs: list, measure: str, *, random: bool = False) -> tuple[list, float]:
    """Both sentences' scores of each pair, and the seconds that they took."""
    bias = BiasMLM(encoder, Pairs(pairs))
    if not random:
        options = {"attn_implementation": "eager", "output_attentions": True, "output_hidden_states": True}
        bias.model = AutoModelForMaskedLM.from_pretrained(encoder, **options).eval()
    started = time.process_time()
    # Its AUL fails without attention.
    bias.evaluate([measure], attention=measure == "aul")
    return [bias.eval_results[side][measure] for side in ("S1", "S2")], time.process_time() - started


def diagonal(model, token_ids, spans, mask_id, log_softmax):
    """SSS as the mean over each token's own place (measures.py, line 177, has the mean over all pairs)."""
    spans = list(spans)
    masked = token_ids.clone()
    masked[:, spans] = mask_id
    with torch.no_grad():
        log_p = model(masked).logits.squeeze(0).log_softmax(1)[spans]
    return {"sss": log_p.gather(1, token_ids.view(-1)[spans][:, None]).mean().item()}


folder, file = sys.argv[1:]
sentences = json.loads(Path(file).read_text(encoding="utf-8"))
with contextlib.redirect_stdout(sys.stderr):  # its progress
    found = {measure: scores(folder, sentences, measure) for measure in MEASURES}
    compute_mlm_bias.compute_sss = diagonal
    found["sss, diagonal"] = scores(folder, sentences, "sss")
    found |= {f"csps, as shipped, run {run}": scores(folder, sentences, "csps", random=True) for run in (1, 2)}
print(json.dumps(found))
