# ROOT: the folder with this workflow's files: a clone, an installed biasflow, or, where Snakemake fetches the module of
# another workflow from a repository (github, git+file), all files of that commit. Scripts and package come from there.
import os
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory


def checked_out(source, cache):
    """The folder with all files of a commit of which Snakemake reads single ones. It stays in Snakemake's cache, so that
    the jobs of a run, and later runs, find it."""
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
    return folder


HERE = workflow.current_basedir.join("..")  # of a module: not workflow.basedir
if hasattr(HERE, "ref"):
    ROOT = checked_out(HERE, Path(workflow.sourcecache.cache_path)) / HERE.path
else:
    ROOT = Path(os.path.normpath(HERE.get_path_or_uri(secret_free=True)))
if not (ROOT / "scripts").is_dir():
    sys.exit(
        f"biasflow: as a module it needs all its files: name the Snakefile of a repository (github, git+file), of "
        f"a clone or of an installed biasflow (`biasflow workflow`); there is no {ROOT / 'scripts'}"
    )
if workflow.modifier.path_modifier.prefix or workflow.modifier.path_modifier.modifies_prefixes:
    sys.exit("biasflow: as a module it takes no prefix: leave it out; the key `run` names the folder under results/")
if (ROOT / "scripts/biasflow").is_dir():  # before an installed biasflow of another version
    sys.path.insert(0, str(ROOT / "scripts"))
try:
    from biasflow.base import shipped
except ImportError as error:
    sys.exit(f"biasflow: {error}; install biasflow where Snakemake is, for the packages that it needs")
if not ROOT.samefile(shipped.ROOT):
    sys.exit(
        f"biasflow: the rules lie in {ROOT}, but the package is that of {shipped.ROOT}; take both from one place: "
        f"name {shipped.ROOT / 'Snakefile'}, or install what belongs to the rules"
    )
