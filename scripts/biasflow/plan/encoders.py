"""Where the files of encoders and models lie, and how the encoders of a run are trained."""

from collections.abc import Mapping

from biasflow.asking.matrix import NA, RANDOM, Model
from biasflow.asking.paths import Paths
from biasflow.asking.sources import corpora, given_files, is_external, local_files
from biasflow.encoders.recipes import RECIPES, SWAPPED
from biasflow.plan.datasets import text_file
from biasflow.plan.facts import Facts, has_head
from biasflow.plan.tasks import kind_of


class Encoders:
    """Encoders of a configuration by their names, and models."""

    def __init__(self, config: Mapping, facts: Facts):
        self.config, self.facts, self.paths = config, facts, Paths(config["run"])

    def files(self, encoder: str) -> list[str]:
        """The files of a local encoder, or those that are given in place of an external one; otherwise the folder that
        a rule of this run writes."""
        about = self.config["encoders"][encoder]
        if about["source"] == "local":
            return local_files(about, self.config["mirror"])
        if is_external(self.config, encoder):
            return [file for files in given_files(about).values() for file in files]
        return [self.paths.encoder(encoder)]

    def pretraining_texts(self, encoder: str) -> list[str]:
        """The texts that an encoder is pre-trained on; none unless it is."""
        return [text_file(self.config, encoder, text) for text in corpora(self.config["encoders"][encoder])]

    def one_is_pretrained(self) -> bool:
        """Whether the run pre-trains one encoder alone. The weights are the same with one thread or two."""
        return sum(about["source"] == "pretrain" for about in self.config["encoders"].values()) == 1

    def continuing_texts(self, encoder: str) -> dict[str, str]:
        """What an encoder is trained on further, as one running string, by role: text and, where its recipe takes that,
        the same swapped."""
        about = self.config["encoders"][encoder]
        text = text_file(self.config, encoder, about["text"], running=not about["next_sentence"])
        if RECIPES[about["recipe"]].beside != SWAPPED:
            return {"text": text}
        return {"text": text, "swapped": f"{text.removesuffix('.txt')}.swapped.txt"}

    def continued_from(self, encoder: str) -> dict[str, object]:
        """The files that an encoder is trained further from: those of the one that it starts from, and its texts."""
        return {"encoder": self.files(self.config["encoders"][encoder]["from"]), **self.continuing_texts(encoder)}

    def continuing(self, encoder: str) -> dict[str, object]:
        """How an encoder is trained further, without what its files already say."""
        return {k: v for k, v in self.config["encoders"][encoder].items() if k not in ("source", "from", "text")}

    def texts(self, encoder: str) -> list[str]:
        """The texts that an encoder was trained on in this run, and those that it is continued from."""
        about = self.config["encoders"][encoder]
        if about["source"] == "continued":
            return [*self.continuing_texts(encoder).values(), *self.texts(about["from"])]
        return self.pretraining_texts(encoder)

    def planted_corpus(self, encoder: str, *, held_out: bool) -> dict[str, object]:
        """What the embedded corpus of an encoder is made of; held-out text has another seed."""
        about = self.config["encoders"][encoder]
        if held_out:
            return {"bias": about["bias"], "seed": about["seed"] + 1_000_000, "documents": 2000}
        return {key: about[key] for key in ("bias", "seed", "documents")}

    def pretraining(self, encoder: str) -> dict[str, object]:
        """The recipe of a pre-training, without what its text already says."""
        beside = ("source", "corpus", "bias", "documents", "vocabulary")
        return {key: value for key, value in self.config["encoders"][encoder].items() if key not in beside}

    def model_files(self, model: Model) -> list[str]:
        """The folder of a fine-tuned model; of any other, random ones too, the files of its encoder."""
        if model.task == NA:
            return self.files(model.encoder)
        return [self.paths.model(model.encoder, model.training)]

    def head(self, model: Model) -> str:
        """The head that a model is loaded with, so that its sentence vector can be reached; a random one has none."""
        if model.strategy == RANDOM:
            return "none"
        if model.task != NA:
            return kind_of(self.config["tasks"][model.task]["kind"]).head
        return "next_sentence" if has_head(self.config, self.facts, model.encoder, "next_sentence") else "none"
