"""To which partitions jobs go, what they ask for together, and what is refused before the first one is submitted."""

from types import SimpleNamespace

import pytest

from biasflow.base.errors import BiasflowError
from biasflow.plan.partitions import asked_of_slurm

FILE = "partitions:\n  cpu: {max_runtime: 1d, max_mem_mb: 64000}\n  GPU_PARTITION: {max_gpu: 1}\n"


def job(name: str, **resources) -> SimpleNamespace:
    return SimpleNamespace(name=name, threads=1, resources=resources)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "partitions.yaml"
    path.write_text(FILE)
    return path


def test_time_and_memory_are_told_by_partition(file):
    jobs = [job("score", runtime=30, mem_mb=4000), job("score", runtime=90, mem_mb=4100)]
    assert (
        asked_of_slurm(jobs, file)
        == "jobs for Slurm: 2 to the partition cpu (up to 1.5 hours, 5 GB each, 2.0 hours together)"
    )
    chosen = job("read", runtime=60, mem_mb="<TBD>", gpu=1, slurm_partition="a100")  # the user's own
    assert (
        asked_of_slurm([chosen], file)
        == "jobs for Slurm: 1 to the partition a100 (up to 1.0 hours, 0 GB and a GPU each)"
    )
    assert asked_of_slurm([], file) == ""


@pytest.mark.parametrize(
    ("resources", "said"),
    [
        ({"runtime": 60, "gpu": 1}, "GPU_PARTITION stands for the name of a partition"),
        ({"runtime": 1500}, "no partition takes rule read, which asks for up to 25.0 hours"),
        ({"runtime": 60, "mem_mb": 64001}, "no partition takes rule read, which asks for up to 1.0 hours, 65 GB"),
        ({"runtime": 60, "gpu": 2}, "no partition takes rule read"),
    ],
)
def test_what_no_partition_takes_is_refused(file, resources, said):
    if "gpu" not in resources:
        file.write_text(FILE.partition("  GPU")[0])
    with pytest.raises(BiasflowError, match=said) as refused:
        asked_of_slurm([job("read", **resources)], file)
    assert str(refused.value).startswith(str(file)) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text", ["", "partitions: [cpu]", "partitions:\n  cpu:\n", "partitions: {cpu: {max_gpus: 1}}", "{"]
)
def test_a_file_of_another_form_is_named(file, text):
    file.write_text(text)
    with pytest.raises(BiasflowError, match="lists no partitions") as refused:
        asked_of_slurm([job("score")], file)
    assert str(refused.value).startswith(str(file)) and "\n" not in str(refused.value)
