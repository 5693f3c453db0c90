"""Mistakes in a configuration that only its plan shows: a text that an encoder cannot take, and a metric or method that
measures or changes nothing."""

from collections.abc import Mapping

from biasflow.base.names import Faults, refuse
from biasflow.encoders.configured import PLANTED, not_planted
from biasflow.plan.jobs import Plan
from biasflow.plan.methods import sources
from biasflow.plan.setup import Setup

# The part of the configuration that names the text of a readout.
TEXTS = {
    "losses": "metrics.perplexity",
    "likelihoods": "metrics.perplexity",
    "sentence_vectors": "metrics.perplexity",
    "associations": "metrics.ceat",
    "gender_shares": "fitting",
    "token_scores": "fitting",
}


def check_texts(setup: Setup, planned: Plan) -> None:
    """BiasflowError, naming the key, for a text that encoders of the plan cannot take, or that is not theirs."""
    refuse(_too_long(setup, planned))
    _check_planted(setup, planned)


def _too_long(setup: Setup, planned: Plan) -> Faults:
    """Blocks of text that an encoder cannot take."""
    length = setup.config["metrics"]["perplexity"]["max_length"]
    for encoder in dict.fromkeys(key.job.encoder for key in planned.readings if key.readout == "losses"):
        longest = setup.encoders[encoder].positions
        if length and longest and length > longest:
            more = f"{length} tokens are more than the {longest} that encoders.{encoder} takes"
            yield "metrics.perplexity.max_length", f"{more}; give at most {longest}, or null"


def _check_planted(setup: Setup, planned: Plan) -> None:
    """The embedded text is made for encoders that were trained on it: BiasflowError where it is named for another."""
    for part, name in _users_of_texts(setup.methods, planned):
        *above, last = part.split(".")
        options = setup.config["metrics"][last] if above else setup.config[last]
        if options["text"] == PLANTED and not setup.encoders[name].is_planted:
            raise not_planted(f"{part}.text", name)


def _users_of_texts(methods: Mapping[str, object], planned: Plan) -> list[tuple[str, str]]:
    """Parts of the configuration that name a text ("fitting", "metrics.ceat"), and encoders that are run with it."""
    users = [(TEXTS[key.readout], key.job.encoder) for key in planned.readings if key.readout in TEXTS]
    fitted = [(job.encoder, names) for job, names in planned.fits.items()]
    fitted += [(model.encoder, (model.carried,)) for model in planned.trained.values() if model.carried]
    users += [("fitting", name) for name, names in fitted if any("words" in sources(methods[one]) for one in names)]
    return list(dict.fromkeys(users))


def check_asked(planned: Plan) -> None:
    """BiasflowError, naming the key, for a metric of a block that measures none of its models, by the block's own
    words, and for a method that acts on none of them: in a paper its row says so. What another block has as well counts
    for both."""
    keys = {block.asked: block.key for block in planned.blocks}
    of_papers = {block.asked for block in planned.blocks if block.is_of_paper}
    cells = (*planned.cells, *planned.repeated)
    by_metric = [((cell.block, cell.metric), f"{keys[cell.block]}.", cell.reason) for cell in cells]
    by_method = [
        ((cell.block, cell.method), f"methods.{cell.method}: ", cell.reason)
        for cell in cells
        if cell.block not in of_papers
    ]
    for asked in (by_metric, by_method):
        runs = {pair for pair, start, reason in asked if not reason.startswith(start)}
        refuse(reason.split(": ", 1) for pair, _, reason in asked if pair not in runs)
