"""The key `limit`: of a run, of its tasks and of its blocks."""

from collections.abc import Iterator, Mapping

from biasflow.base.errors import BiasflowError
from biasflow.registry import PAPERS


def spread_limit(config: Mapping) -> None:
    """Give the run's limit to all tasks and blocks of `ask` that have none of their own."""
    for about in (*config["tasks"].values(), *config["ask"].values()):
        if about.get("limit", 0) is None:  # coreference has no such key
            about["limit"] = config["limit"]


def check_limits(config: Mapping) -> None:
    """BiasflowError, naming the key, for a limit of what a paper prints beside numbers of all data."""
    for key, limit in _of_papers(config):
        if limit is not None:
            raise BiasflowError(
                f"config: key '{key}': a paper's tables are of all data; leave the limit or the paper out, "
                "or limit another task or a block of `ask`"
            )


def _of_papers(config: Mapping) -> Iterator[tuple[str, int | None]]:
    for paper, options in config["papers"].items():
        yield "limit", config["limit"]
        for key in PAPERS[paper].tasks:
            named = options.get(key) or ()
            for task in [named] if isinstance(named, str) else named:
                yield f"tasks.{task}.limit", config["tasks"].get(task, {}).get("limit")
    for task, about in config["papers"].get("planted", {}).get("tasks", {}).items():
        yield f"papers.planted.tasks.{task}.limit", about.get("limit")
