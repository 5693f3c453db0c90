"""The professions of the real WinoBias, read by small encoders with real tokenizers, and a probe of them."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import RobertaConfig, RobertaModel, RobertaTokenizer

from biasflow.corpora.conll import read_conll, write_conll
from biasflow.corpora.winobias import PROFESSIONS
from biasflow.metrics.codelength import score
from biasflow.readouts import probes, professions
from biasflow.readouts.files import load_arrays
from biasflow.readouts.source import Source
from tests.real.files import DATA, LITWIKI, needs

pytestmark = needs(LITWIKI)


def save_roberta(folder: Path) -> Path:
    """A random encoder with RoBERTa's own tokenizer."""
    tokenizer = RobertaTokenizer.from_pretrained(DATA / "tokenizers/roberta-base", local_files_only=True)
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    RobertaModel(RobertaConfig(vocab_size=len(tokenizer), **sizes)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("encoder", ["litwiki-bert", "roberta"])
def test_every_profession_has_pieces_and_32_of_40_are_sent(tmp_path, encoder):
    files = [DATA / f"winobias/{part}_type{n}_pro_stereotype.v4_auto_conll" for part in ("dev", "test") for n in (1, 2)]
    write_conll([document for file in files for document in read_conll(file).documents], tmp_path / "pro.conll")
    folder = LITWIKI if encoder == "litwiki-bert" else save_roberta(tmp_path / "model")
    data = {"pro": (tmp_path / "pro.conll",), "professions": (PROFESSIONS,)}
    path = tmp_path / "professions.safetensors"
    facts = professions.read(Source(folder, ("none",), "professions", data), path, word_prefix_space=True)
    assert (facts["sentences"], facts["rows"]) == (1584, 3168)
    vectors = load_arrays(path).arrays["vectors"]
    assert len(np.unique(vectors[0], axis=0)) > 3000  # the same words in another sentence are other vectors

    options = {"data": ["released", "paper"], "split_seeds": [0], "orders": 1, "fractions": [2.0, 31.0, 100.0]}
    probed = Source(folder, ("none",), "professions", {"vectors": (path,)})
    cuts = "biasflow.tasks.coreference.cuts"
    probes.read(probed, tmp_path / "probes.parquet", cuts=cuts, epochs=2, **options)
    scores = score(tmp_path / "probes.parquet")
    sent = scores.loc[scores["metric"] == "compression", "n"]
    assert len(sent) == 8 and sent.between(32 * 72, 32 * 84).all() and np.isfinite(scores["value"]).all()
