"""Small random models of every architecture in `encoders.families`, of sizes that fit no two of them by chance."""

import torch
import transformers
from transformers import AutoConfig, PretrainedConfig, PreTrainedModel

HIDDEN, HEADS, LAYERS, VOCABULARY, LABELS = 36, 3, 4, 97, 5
SIZES = {
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 52,
    "vocab_size": VOCABULARY,
    "initializer_range": 0.3,
    "num_labels": LABELS,
    "pad_token_id": 1,
}
# What an architecture needs or has besides, by a name that begins with its model type.
KINDS = {
    "albert": {"embedding_size": 20},
    "albert, two groups": {"embedding_size": 20, "num_hidden_groups": 2},
    "bert": {},
    "camembert": {},
    "data2vec-text": {},
    "deberta": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "pooler_hidden_size": HIDDEN},
    "deberta-v2": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "pooler_hidden_size": HIDDEN},
    "distilbert": {"hidden_dim": 52},
    "electra": {"embedding_size": 20},
    "ernie": {},
    "eurobert": {"classifier_pooling": "bos", "num_key_value_heads": HEADS},
    "eurobert, shared keys": {"classifier_pooling": "mean", "num_key_value_heads": 1},
    "megatron-bert": {},
    "modernbert": {"classifier_pooling": "cls", "local_attention": 6},
    "modernbert, mean": {"classifier_pooling": "mean", "local_attention": 6},
    "mpnet": {},
    "nomic_bert": {},
    "rembert": {"input_embedding_size": 20, "output_embedding_size": 28},
    "roberta": {},
    "roberta-prelayernorm": {},
    "xlm-roberta": {},
    "xlm-roberta-xl": {},
}
SPECIAL_TOKENS = {"bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}


def config_of(kind: str) -> PretrainedConfig:
    model_type = kind.split(",")[0]
    config = AutoConfig.for_model(model_type)
    sizes = {config.attribute_map.get(name, name): value for name, value in (SIZES | SPECIAL_TOKENS).items()}
    sizes = {name: value for name, value in sizes.items() if hasattr(config, name)}
    return AutoConfig.for_model(model_type, **sizes | KINDS[kind])


def model_of(kind: str, head: str) -> PreTrainedModel:
    """A model with a head ("SequenceClassification", "MaskedLM" ...) whose biases and normalisations are random, too:
    at their first values some mistakes could not be seen."""
    torch.manual_seed(0)
    model = getattr(transformers, f"AutoModelFor{head}").from_config(config_of(kind)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter += 0.3 * torch.randn_like(parameter)
    return model


def batch_of(rows: int = 4, tokens: int = 11) -> dict[str, torch.Tensor]:
    """Token ids with padding of different lengths."""
    ids = torch.randint(5, VOCABULARY, (rows, tokens), generator=torch.Generator().manual_seed(1))
    mask = (torch.arange(tokens) < tokens - 2 * torch.arange(rows)[:, None]).long()
    return {"input_ids": torch.where(mask == 1, ids, 1), "attention_mask": mask}
