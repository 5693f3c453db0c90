"""How often association tests call encoders biased that learnt nothing: BERTs with random weights.

    python -m benchmarks.random_encoders TOKENIZER MIRROR ENCODERS

TOKENIZER: the folder of an uncased BERT; MIRROR: the folder with the files of SEAT. Prints the share of the encoders in
which a test of SEAT is significant at 5 %, by its published p, which counts every sentence for itself, and by the p in
which all sentences about a word stay together; and how often one of the six is after Holm's correction."""

import sys
from pathlib import Path

import pandas as pd
import torch
from transformers import AutoTokenizer, BertConfig, BertModel

from biasflow.corpora.catalogue import read_catalogue
from biasflow.corpora.seat import SENTENCE_TESTS, AssociationTest, read_association_test
from biasflow.metrics.association import READINGS, weat
from biasflow.readouts.reader import Reader
from biasflow.readouts.vectors import embed_test
from biasflow.results.statistics import holm

LEVEL, SAMPLES = 0.05, 10_000


def p_values(reader: Reader, test: AssociationTest) -> dict[str, float]:
    """Both p of a test of sentences, by what is exchanged between the sets: sentences, or words."""
    sets = {role: vectors[0] for role, vectors in embed_test(reader, test, pooling="cls").items()}
    found = weat(**sets, **READINGS["seat"], samples=SAMPLES, about=(test.X.about, test.Y.about))
    return {"sentences": found.p_value, "words": found.word_p_value}


def main(tokenizer: str, mirror: str, encoders: int) -> None:
    """Print the shares of significant tests, by test and over all six."""
    torch.set_num_threads(1)
    files, words = read_catalogue(), AutoTokenizer.from_pretrained(tokenizer)
    tests = [read_association_test(Path(mirror) / files.entry(name).mirror_path, name) for name in SENTENCE_TESTS]
    rows = []
    for seed in range(encoders):
        torch.manual_seed(seed)
        sizes = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512}
        config = BertConfig(vocab_size=len(words), **sizes)
        reader = Reader(BertModel(config).eval(), words)
        rows += [{"seed": seed, "test": test.name, **p_values(reader, test)} for test in tests]
    found = pd.DataFrame(rows).set_index(["seed", "test"])
    corrected = found.groupby("seed").transform(holm)
    shares = found.le(LEVEL).groupby("test").mean()
    shares.loc["a test of six, after Holm's correction"] = corrected.le(LEVEL).groupby("seed").any().mean()
    print(f"{encoders} encoders with random weights, p <= {LEVEL}\n{shares.to_string(float_format='%.2f')}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
