"""What every script of a rule does around its work: log, provenance, threads."""

import contextlib
import os
import time
from collections.abc import Iterator

from scripts.biasflow.base.provenance import rule_log, write_provenance


@contextlib.contextmanager
def rule(smk) -> Iterator[dict]:
    """Run the body with the rule's log; on success write provenance beside the outputs.

    Yields a dictionary for facts that only the body knows (device, seed, where a file came from)."""
    started = time.time()
    os.environ["OMP_NUM_THREADS"] = str(smk.threads)  # before torch is imported: results follow the declared threads
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"  # threads that spin while they wait slow every other job down
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    facts: dict = {}
    with rule_log(smk.log[0], rule=smk.rule):
        yield facts
        write_provenance(
            smk.output,
            rule=smk.rule,
            inputs=smk.input,
            params=dict(smk.params.items()),
            config=smk.config,
            started=started,
            facts=facts,
        )
