"""Where the files of encoders and models lie, and how the encoders of a run are trained."""

from biasflow.asking.matrix import NA, RANDOM, Model
from biasflow.asking.paths import package_file
from biasflow.corpora.catalogue import Catalogue
from biasflow.corpora.wikipedia import ENGLISH_WIKIPEDIA
from biasflow.encoders.recipes import PLANTED_BIAS, RECIPES, SWAPPED
from biasflow.plan.datasets import BIOGRAPHIES, text_file
from biasflow.plan.setup import Setup


class Encoders:
    """Where the files of encoders and models lie, and how encoders are trained, by the names of the configuration."""

    def __init__(self, setup: Setup):
        self.setup, self.paths = setup, setup.paths

    def files(self, encoder: str) -> list[str]:
        """The files of a local encoder, or those that are given in place of an external one; otherwise the folder that
        a rule of this run writes."""
        its = self.setup.encoders[encoder]
        if its.source == "local":
            return its.local_files
        if its.is_external:
            file_lists = (files for by_metric in its.given_files.values() for files in by_metric.values())
            return list(dict.fromkeys(file.file for files in file_lists for file in files))
        return [self.paths.encoder(encoder)]

    def pretraining_texts(self, encoder: str) -> list[str]:
        """The files of the texts that an encoder is pre-trained on in this run; [] for any other encoder."""
        its = self.setup.encoders[encoder]
        return [text_file(self.paths, its, text) for text in its.corpora]

    def one_is_pretrained(self) -> bool:
        """Whether the run pre-trains one encoder alone. The weights are the same with one thread or two."""
        return sum(encoder.source == "pretrain" for encoder in self.setup.encoders.values()) == 1

    def continuing_texts(self, encoder: str) -> dict[str, str]:
        """What an encoder is trained on further, as one running string, by role: text and, where its recipe takes that,
        the same swapped."""
        its = self.setup.encoders[encoder]
        about = its.about
        if about["recipe"] == PLANTED_BIAS:
            return {"text": text_file(self.paths, its, about["text"] or BIOGRAPHIES[1])}
        text = text_file(self.paths, its, about["text"], running=not about["next_sentence"])
        if RECIPES[about["recipe"]].beside != SWAPPED:
            return {"text": text}
        return {"text": text, "swapped": f"{text.removesuffix('.txt')}.swapped.txt"}

    def continued_from(self, encoder: str) -> dict[str, object]:
        """The files that an encoder is trained further from: those of the one that it starts from, its texts, and the
        shares of women where bias is planted."""
        its = self.setup.encoders[encoder]
        files = {"encoder": self.files(its.continues.name), **self.continuing_texts(encoder)}
        if its.about["recipe"] == PLANTED_BIAS:
            files["labour"] = its.about.get("labour", package_file("data/labour_statistics.csv"))
        return files

    def continuing(self, encoder: str) -> dict[str, object]:
        """How an encoder is trained further, without what its files already say."""
        files = ("source", "from", "text", "labour")
        return {k: v for k, v in self.setup.encoders[encoder].about.items() if k not in files}

    def texts(self, encoder: str) -> list[str]:
        """The texts that an encoder was trained on in this run, and those that it is continued from."""
        if above := self.setup.encoders[encoder].continues:
            return [*self.continuing_texts(encoder).values(), *self.texts(above.name)]
        return self.pretraining_texts(encoder)

    def context_files(self, encoder: str, catalogue: Catalogue) -> list[str]:
        """The files in which the contexts of an encoder's words are looked for, in the order in which they are read."""
        options = self.setup.config["metrics"]["ceat"]
        if options["text"] == ENGLISH_WIKIPEDIA:
            return [self.paths.corpus(name) for name in catalogue.shards[ENGLISH_WIKIPEDIA][: options["shards"]]]
        return [text_file(self.paths, self.setup.encoders[encoder], options["text"])]

    def planted_corpus(self, encoder: str, *, held_out: bool) -> dict[str, object]:
        """What the embedded corpus of an encoder is made of; held-out text has another seed."""
        about = self.setup.encoders[encoder].planted
        world = {"world": self.setup.config["world"]} if self.setup.config["world"] else {}
        if held_out:
            return {"bias": about["bias"], "seed": about["seed"] + 1_000_000, "documents": 2000} | world
        return {key: about[key] for key in ("bias", "seed", "documents")} | world

    def pretraining(self, encoder: str) -> dict[str, object]:
        """The recipe of a pre-training, without what its text already says."""
        beside = ("source", "corpus", "bias", "documents", "vocabulary")
        return {key: value for key, value in self.setup.encoders[encoder].about.items() if key not in beside}

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
            return self.setup.task(model.task).kind.head
        return "next_sentence" if self.setup.encoders[model.encoder].has_head("next_sentence") else "none"
