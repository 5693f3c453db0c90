"""Pretrained encoders from the Hugging Face hub: one pinned revision, safetensors weights only, every file checked."""

import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import yaml
from safetensors import SafetensorError, safe_open

from biasflow.base.errors import BiasflowError
from biasflow.base.files import read_json, read_text, sha256, whole_folder
from biasflow.corpora.verified import DownloadError, agree, refuse_page

TOKENIZER = ("tokenizer.json", "vocab.txt", "vocab.json")  # any one of them makes a tokenizer
TIMEOUT = 20  # seconds
MOST_CHANGES = 20  # open changes of a model that are looked through for safetensors weights
NO_WEIGHTS = "has no safetensors weights, and pickle weights are never loaded"
CONVERT = "name a revision that has model.safetensors, or convert the model and name its folder"
WEIGHTS_INDEX = "model.safetensors.index.json"
# What an encoder is, before its weights are there; of a sentence encoder the list of its parts, and what they do.
ABOUT = ("config.json", "modules.json", "[0-9]_*/config.json", "config_sentence_transformers.json")
ABOUT += ("sentence_*_config.json",)
# Never pickle weights (*.bin, *.pt), never code (*.py).
FILES = (
    *ABOUT,
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "merges.txt",
    *TOKENIZER,
    "model*.safetensors",
    "[0-9]_*/model.safetensors",
    WEIGHTS_INDEX,
)
# What the hub's client raises -> what it means.
MEANINGS = {
    "HFValidationError": "this is no id of the hub; write OWNER/NAME.",
    "RevisionNotFoundError": "the hub does not have it; name a commit, tag or branch of the model.",
    "RepositoryNotFoundError": "the hub has no such model, or it is private or gated for you; check the id.",
    "OfflineModeIsEnabled": "the hub is not asked, because HF_HUB_OFFLINE is set; unset it, name a commit "
    "(NAME@COMMIT) that is in the cache, or name a local folder.",
    "LocalEntryNotFoundError": "it is not (wholly) in the local cache, and the hub cannot be reached. Where there is a "
    "network, run `hf download` with this id and --revision, and copy the cache (HF_HOME), or name a local folder as "
    "the encoder's source.",
}


@dataclass(frozen=True)
class HubOrigin:
    """Which files of which repository and revision; files maps names to {sha256, bytes, url}."""

    id: str
    revision: str
    files: Mapping[str, Mapping]


def download_encoder(
    id: str,
    revision: str,
    folder: str | Path,
    *,
    lock_file: str | Path,
    known: Mapping[str, str] | None = None,
    check: Callable[[Path], None] | None = None,
) -> HubOrigin:
    """Put an encoder of the hub into `folder`: config, tokenizer and safetensors weights, nothing else.

    revision: full commit hash. known: sha256 by file name (data/corpora.yaml). The other files must be of their form,
    large ones have the sha256 that the hub states, and the lock file guards all of them. The hub's own cache (HF_HOME)
    is used and filled, so a complete cache works with HF_HUB_OFFLINE=1. check is given a folder with config.json and
    what a sentence encoder's repository says of its parts, and raises BiasflowError for an encoder that no job could
    use, before anything else is downloaded.
    BiasflowError in one line: no network, unknown id or revision, no safetensors weights, an altered file."""
    if not re.fullmatch("[0-9a-f]{40}", revision):
        raise BiasflowError(
            f"{id}: revision {revision!r} is not a full commit hash (40 hex digits), so it is not pinned; name one."
        )
    about = _snapshot(id, revision, ABOUT)
    if check and (about / "config.json").is_file():
        for name in _names(about, ABOUT):
            _check_form(id, about, name)
        check(about)
    snapshot = _snapshot(id, revision, FILES)
    names = _names(snapshot, FILES)
    for name in names:
        _check_form(id, snapshot, name)
    _check_complete(id, revision, snapshot, names)
    with whole_folder(folder) as part:
        for name in names:
            (part / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(snapshot / name, part / name)
        files = {name: _describe(part / name, f"{id}@{revision}/{name}") for name in names}
        _verify(id, files, known=known or {}, lock_file=lock_file)
    return HubOrigin(id=id, revision=revision, files=files)


def _names(folder: Path, patterns: Sequence[str]) -> list[str]:
    """The files of a folder, and of the folders in it, whose path matches a pattern, sorted."""
    paths = (path.relative_to(folder).as_posix() for path in (*folder.glob("*"), *folder.glob("*/*")))
    return sorted(path for path in paths if any(fnmatchcase(path, pattern) for pattern in patterns))


def _snapshot(id: str, revision: str, files: Sequence[str]) -> Path:
    """The folder of the hub's cache that holds these files of the revision, downloaded when needed."""
    # Imported here: the module is slow to load, and reads HF_HOME, HF_HUB_OFFLINE and HF_ENDPOINT when it is.
    from huggingface_hub import snapshot_download, utils

    if not sys.stderr.isatty():
        utils.disable_progress_bars()
    try:
        return Path(snapshot_download(id, revision=revision, allow_patterns=list(files)))
    except Exception as error:
        raise _refused(id, revision, error) from error


def pinned(id: str, revision: str = "main") -> tuple[str, str]:
    """NAME@COMMIT for a branch or tag of a model on the hub as it is now, with the hub's own name for it, and the
    model that its card says it was trained from, or ""; one small request. BiasflowError as of `download_encoder`."""
    from huggingface_hub import HfApi

    try:
        found = HfApi().model_info(id, revision=revision, timeout=TIMEOUT)
    except Exception as error:
        raise _refused(id, revision, error) from error
    return f"{found.id}@{found.sha}", _base(found.card_data or {})


def looked_up(id: str, revision: str) -> tuple[Path, set[str]]:
    """Of a model of the hub, before anything large is downloaded: a folder with what it says of itself (ABOUT), and the
    names of its weights, which their headers have. BiasflowError as of `download_encoder`; where the revision has no
    safetensors weights and an open conversion has, it is named."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import NotASafetensorsRepoError, OfflineModeIsEnabled

    about = _snapshot(id, revision, ABOUT)
    try:
        return about, set(HfApi().get_safetensors_metadata(id, revision=revision, timeout=TIMEOUT).weight_map)
    except OfflineModeIsEnabled:  # the cache may have all of it
        snapshot = _snapshot(id, revision, FILES)
        _check_complete(id, revision, snapshot, _names(snapshot, FILES))
        return snapshot, {name for path in snapshot.glob("model*.safetensors") for name in _weights_of(path)}
    except NotASafetensorsRepoError as error:
        found = _conversion(id)
        remedy = f"an open conversion of it has some, {id}@{found}: look at what it changes" if found else CONVERT
        raise BiasflowError(f"{id}: revision {revision} {NO_WEIGHTS}; {remedy}.") from error
    except Exception as error:
        raise _refused(id, revision, error) from error


def _conversion(id: str) -> str:
    """The newest commit among the open changes of a model that has safetensors weights, or ""."""
    from huggingface_hub import HfApi

    try:
        changes = HfApi().list_repo_refs(id, include_pull_requests=True).pull_requests or []
        newest = sorted(changes, key=lambda change: -int(change.ref.rpartition("/")[2]))
        for commit in [change.target_commit for change in newest[:MOST_CHANGES]]:
            if any(name.endswith(".safetensors") for name in HfApi().list_repo_files(id, revision=commit)):
                return commit
    except Exception:  # the hub need not tell; what is wrong is said without it
        return ""
    return ""


def _weights_of(path: Path) -> list[str]:
    with safe_open(path, "np") as weights:
        return list(weights.keys())


def base_of_card(folder: Path) -> str:
    """The model that a folder's model card says it was trained from, or "" where it does not."""
    return _base(head_of_card(folder))


def head_of_card(folder: Path) -> dict:
    """What the head of a folder's model card (README.md) says; nothing where there is none."""
    readme = folder / "README.md"
    parts = read_text(readme).split("---\n", 2) if readme.is_file() else []
    try:
        known = yaml.load(parts[1], Loader=yaml.CSafeLoader) if len(parts) == 3 and not parts[0].strip() else {}
    except yaml.YAMLError:
        known = {}
    return known if isinstance(known, dict) else {}


def _base(about: Mapping) -> str:
    """What a card has as its base_model: a name; of a list its only one, as a merged model has no single base."""
    base = about.get("base_model")
    (base,) = base if isinstance(base, list) and len(base) == 1 else [base]
    return base if isinstance(base, str) else ""


def _refused(id: str, revision: str, error: Exception) -> BiasflowError:
    """What an error of the hub's HTTP and Xet clients means, whose kinds change from version to version."""
    kinds = [kind.__name__ for kind in type(error).__mro__]
    why = next((MEANINGS[kind] for kind in kinds if kind in MEANINGS), f"cannot be downloaded: {_line(error)}")
    return BiasflowError(f"{id}: revision {revision}: {why}")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _check_form(id: str, folder: Path, name: str) -> None:
    """BiasflowError if the file cannot be what its name says: a page, or half a file, must not be recorded."""
    path = folder / name
    try:
        refuse_page(path)
        if path.suffix == ".json":
            read_json(path)
        elif path.suffix == ".safetensors":
            with safe_open(path, "np"):  # the header must be whole, and the file as long as it says
                pass
        elif not read_text(path).strip():
            raise DownloadError("empty")
    except (BiasflowError, DownloadError, SafetensorError) as error:
        raise _altered(id, name, _line(error).removeprefix(f"{path}: ").rstrip(".")) from error
    stated = path.resolve().name  # the cache calls a large file by its sha256, as the hub states it
    if re.fullmatch("[0-9a-f]{64}", stated) and stated != (came := sha256(path)):
        raise _altered(id, name, f"expected sha256 {stated} (which the hub states), came {came}")


def _altered(id: str, name: str, why: str) -> BiasflowError:
    advice = "Nothing was kept; remove the model from the hub's cache (`hf cache rm`) and run again."
    return BiasflowError(f"{id}: {name}: {why}. {advice}")


def _check_complete(id: str, revision: str, snapshot: Path, names: list[str]) -> None:
    """config.json, a tokenizer and all weights must be there (a cache may hold a part of the revision only)."""
    where, shards = f"{id}: revision {revision}", set()
    if "config.json" not in names:
        raise BiasflowError(f"{where} has no config.json, so it is no encoder of transformers; name another.")
    if not any(name in names for name in TOKENIZER):
        raise BiasflowError(f"{where} has no tokenizer ({', '.join(TOKENIZER)}); name another.")
    if not any(name.endswith(".safetensors") and "/" not in name for name in names):
        raise BiasflowError(f"{where} {NO_WEIGHTS}; {CONVERT}.")
    if WEIGHTS_INDEX in names:
        shards = set(read_json(snapshot / WEIGHTS_INDEX)["weight_map"].values())
    if lacking := sorted(shards - set(names)):
        raise BiasflowError(f"{where} lacks {', '.join(lacking)}; name another.")


def _describe(path: Path, url: str) -> dict:
    return {"sha256": sha256(path), "bytes": path.stat().st_size, "url": url}


def _verify(id: str, files: Mapping[str, dict], *, known: Mapping[str, str], lock_file: str | Path) -> None:
    for name, digest in known.items():
        came = files.get(name, {}).get("sha256")
        if came != digest:
            raise _altered(id, name, f"expected sha256 {digest}, came {came or 'no such file'}")
    agree(lock_file, {came["url"]: came for name, came in files.items() if name not in known})
