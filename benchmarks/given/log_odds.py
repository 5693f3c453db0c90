"""The slope of the she-he log-odds of occupations on their shares of women, with transformers alone.

Arguments: the folder of an encoder, the output, a CSV with occupations in its first or second column and their
share_of_women, and a sentence with {} for an occupation and [MASK] for the pronoun.

The value of an occupation is (share - mean share) x log-odds / variance of the shares, so that the mean of the values
is the least-squares slope."""

import csv
import sys
from pathlib import Path
from statistics import fmean, pvariance

import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

encoder, output, shares, sentence = sys.argv[1:]
with Path(shares).open(encoding="utf-8", newline="") as file:
    rows = [row for row in csv.DictReader(file) if row.get("theme", "work") == "work" and row["share_of_women"]]
names = [(row.get("item") or row["profession"]).replace("_", " ") for row in rows]
women = [float(row["share_of_women"]) for row in rows]

torch.set_num_threads(1)
tokenizer, model = AutoTokenizer.from_pretrained(encoder), AutoModelForMaskedLM.from_pretrained(encoder).eval()
texts = [sentence.format(name).replace("[MASK]", tokenizer.mask_token) for name in names]
batch = tokenizer(texts, return_tensors="pt", padding=True)
with torch.no_grad():
    log_p = model(**batch).logits[batch["input_ids"] == tokenizer.mask_token_id].log_softmax(-1)
she, he = tokenizer.convert_tokens_to_ids(["she", "he"])
if tokenizer.unk_token_id in (she, he):
    sys.exit("she or he is no token of this encoder, so their probabilities cannot be compared")
odds = (log_p[:, she] - log_p[:, he]).tolist()
mean, variance = fmean(women), pvariance(women)
values = [(share - mean) * each / variance for share, each in zip(women, odds, strict=True)]
lines = [f"{name},{value}" for name, value in zip(names, values, strict=True)]
Path(output).write_text("\n".join(["item,value", *lines]) + "\n", encoding="utf-8")
