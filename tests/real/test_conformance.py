"""config/conformance.yaml on the published files: how many printed numbers come out, as docs/conformance.md says, and
why the others do not."""

import importlib
import re
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
import yaml

from biasflow.base.errors import AbsentError
from biasflow.corpora import stereoset
from biasflow.metrics import winobias
from biasflow.metrics.items import scorer
from biasflow.papers.ledger import ITEM_KEYS, MOST_ERRORS, OFF, REPRODUCED, of_items, summary
from biasflow.plan.compiled import prepared
from biasflow.readouts.predicted_clusters import read
from biasflow.registry import METRICS, module_of
from biasflow.tasks.coreference.pairs import SIDES, prepare
from biasflow.tasks.coreference.plan import WINOBIAS
from tests.real.files import DATA, needs_data

pytestmark = needs_data
ROOT = Path(__file__).parents[2]
DEV = [file for file in WINOBIAS if file["part"] == "dev"]
TYPES = ("type1", "type2")


def published_clusters(folder: Path) -> pd.DataFrame:
    """The scores of the clusters that a published system on BERT predicts for WinoBias's development part."""
    sources = {
        side: [DATA / f"winobias/dev_{file['type']}_{side}_stereotype.v4_auto_conll" for file in DEV] for side in SIDES
    }
    made = {side: folder / f"{side}.conll" for side in SIDES} | {"pairs": folder / "pairs.csv"}
    prepare(sources, made | {"pairs_baseline": folder / "baseline.csv"}, planted=None, files=DEV)
    test = {"test": (DATA / "ontogum/test.v4_gold_conll",)}
    given = [DATA / f"published_items/winobias/bert-{type}_{side}.json" for type in TYPES for side in SIDES]
    read(given, test | {side: (made[side],) for side in SIDES}, folder / "coref.parquet")
    return winobias.score(folder / "coref.parquet", **made)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The ledger of the run: what its jobs would read and score, by the functions that they call."""
    run = prepared(yaml.safe_load((ROOT / "config/conformance.yaml").read_text()))
    folder, tables, reasons = tmp_path_factory.mktemp("readouts"), [], []
    external = [job for job in run.jobs if job.rule.startswith("external_") and "clusters" not in job.rule]
    datasets = {(job.encoder, score.reading.file): score for job, all_ in run.plan.scored.items() for score in all_}
    json_items = cache(stereoset._json_items)  # 121 readouts are of a few files
    of_jobs = ((job, *one) for job in external for one in zip(job.outputs, job.params["readouts"], strict=True))
    for job, output, params in of_jobs:
        encoder = output.split("/")[3]
        for each in params:
            roles = [role for role in job.inputs if role.startswith(f"{each['inputs']}/")]
            data = {role.rpartition("/")[2]: [_in_mirror(run, path) for path in job.inputs[role]] for role in roles}
            score, path = datasets[encoder, Path(each["file"]).stem], folder / f"{encoder}-{each['file']}"
            about = {"encoder": encoder, "dataset": score.dataset.label}
            try:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(stereoset, "_json_items", json_items)
                    importlib.import_module(each["module"]).read(data.pop("given"), data, path, **each["options"])
                module = importlib.import_module(module_of(METRICS[score.metric]))
                table = scorer(module, score.metric)(path)
                tables.append(table.assign(**about))
            except AbsentError as error:
                reasons.append({**about, "reason": str(error)})
    (clusters,) = [name for name, encoder in run.setup.encoders.items() if "clusters" in encoder.given_files]
    tables.append(published_clusters(folder).assign(encoder=clusters, dataset="winobias-winobias-dev"))
    scores, plan = pd.concat(tables), pd.DataFrame(reasons, columns=["encoder", "dataset", "reason"])
    assert not scores.duplicated(ITEM_KEYS).any()
    return of_items(run.jobs.of("paper_ledger").params["item_files"], scores, plan)


def _in_mirror(run, path: str) -> Path:
    return DATA / run.catalogue.entry(Path(path).name).mirror_path


def test_every_printed_number_of_real_models_that_can_come_out_does(rows):
    assert set(rows["status"]) == {REPRODUCED, OFF}
    counted = rows["paper"].str.partition(" (")[0].value_counts()
    off = rows[rows["status"] == OFF]
    assert (len(rows), len(off)) == (2152, 40)
    assert counted["StereoSet"] == 297 and counted["StereoSet in Portuguese"] == 66


def test_every_number_that_is_off_has_its_cause(rows):
    off = rows[rows["status"] == OFF]
    assert set(off["measure"]) == {"gest_rate, low end", "gest_rate, high end"}
    assert off["reason"].str.contains("noise of 1,000 resamples").all()
    errors = off["off_by"].str.extract(r"; ([\d.]+) standard errors")[0].astype(float)
    assert errors.max() < MOST_ERRORS and (off["difference"].abs() < 0.02).all()


def test_the_document_has_the_numbers_of_the_ledger(rows):
    page = (ROOT / "docs/conformance.md").read_text()
    counted = {row["paper"]: row for row in summary(rows).to_dict("records")}
    for title, row in counted.items():
        (line,) = re.findall(rf"^\| {re.escape(title)} \|(.*)$", page, re.MULTILINE)
        cells = [cell.strip().replace(",", "") for cell in line.split("|")]
        assert cells[:4] == [str(row[key]) for key in ("numbers", "reproduced", "off", "not_run")], title
