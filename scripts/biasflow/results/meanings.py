"""What the measures and erasers of the registry mean, and what tests compare, for readers."""

from collections.abc import Mapping
from functools import cache

import yaml

from biasflow.base.files import read_text
from biasflow.base.shipped import shipped


@cache
def meanings(kind: str) -> Mapping[str, str]:
    """Name -> meaning, in words that follow the name and a colon. kind: "measures", "erasers" or "tests"."""
    return yaml.safe_load(read_text(shipped("data/meanings.yaml")))[kind]
