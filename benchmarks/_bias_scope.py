"""Run in an environment of its own: scores of bias-scope 0.2.0 for pairs of sentences, as JSON.

Arguments: the folder of an encoder, and a JSON file with pairs of sentences."""

import json
import sys
import time
from pathlib import Path

import torch
from bias_scope.probability_based import CrowSPairs
from bias_scope.probability_based._helpers import _score_wordpiece_pair_crows
from bias_scope.probability_based.scorers import WordPieceBertScorer

torch.set_num_threads(1)
folder, file = sys.argv[1:]
sentences = json.loads(Path(file).read_text(encoding="utf-8"))
scorer = WordPieceBertScorer(folder, device="cpu")
found = {}
started = time.process_time()
found["csps"] = list(zip(*(_score_wordpiece_pair_crows(scorer, *pair) for pair in sentences), strict=True))
found["csps"] = [found["csps"], time.process_time() - started]
started = time.process_time()
aul = [[scorer.aul_aula(scorer.encode(text))[0] for text in side] for side in zip(*sentences, strict=True)]
found["aul"] = [aul, time.process_time() - started]
found["crows_pairs_score"] = CrowSPairs(mode="wordpiece").evaluate(sentences, scorer)
print(json.dumps(found))
