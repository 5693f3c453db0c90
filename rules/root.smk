# ROOT: the folder with all files of this workflow, from which scripts and package come. No rules here.
import os
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory


def checked_out(source, cache):
    """The folder with all files of a commit of which Snakemake reads single ones: of a module with github(...) or
    git+file. It stays in Snakemake's cache, where the jobs of a run find it."""
    from git import Repo

    repo = source.hosted_repo.repo if hasattr(source, "hosted_repo") else Repo(source.repo_path)
    commit = repo.commit(source.ref)
    folder = cache / "biasflow" / commit.hexsha
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent) as made:
            with open(f"{made}/tar", "wb") as file:
                repo.archive(file, commit)
            with tarfile.open(f"{made}/tar") as files:
                files.extractall(f"{made}/files", filter="data")
            try:
                os.rename(f"{made}/files", folder)
            except OSError:  # another process was first
                if not folder.is_dir():
                    raise
    return folder / source.path


if hasattr(HERE, "ref"):
    ROOT = checked_out(HERE, Path(workflow.sourcecache.cache_path))
else:
    ROOT = Path(HERE.get_path_or_uri(secret_free=True))
