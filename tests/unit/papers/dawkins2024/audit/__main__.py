"""`PYTHONPATH=scripts python -m tests.unit.papers.dawkins2024.audit` writes the stored audit anew."""

from functools import partial

from biasflow.base.tabular import write_csv
from biasflow.papers.dawkins2024.audit import AUDIT
from biasflow.papers.published import read_published
from tests.unit.papers.dawkins2024.audit.recompute import recomputed

if __name__ == "__main__":
    write_csv(recomputed(partial(read_published, "dawkins2024")), AUDIT)
