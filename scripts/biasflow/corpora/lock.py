"""The lock file: the contents of files at their first download, for those whose sha256 is not in the catalogue."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path

from filelock import FileLock

from biasflow.base.errors import BiasflowError
from biasflow.base.files import whole_file

log = logging.getLogger(__name__)


def agree(lock_file: str | Path, downloads: Mapping[str, Mapping]) -> None:
    """Record each download ({name: {sha256, bytes, url}}) on its first sight; later ones must be the same.

    A name whose url has changed (a new revision was pinned) is recorded anew. Several processes may call this at
    once. BiasflowError names the file, what was expected and what came; then nothing is recorded."""
    lock_file = Path(lock_file)
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{lock_file}.lock"):
        known = _read(lock_file)
        for name, came in downloads.items():
            expected = known.get(name)
            if expected is not None and expected["url"] != came["url"]:
                log.info("%s: its address is now %s; recorded anew in %s.", name, came["url"], lock_file)
            elif expected is not None and expected["sha256"] != came["sha256"]:
                raise BiasflowError(
                    f"{name}: expected sha256 {expected['sha256']} ({expected['bytes']} bytes), as first downloaded "
                    f"and recorded in {lock_file}; came {came['sha256']} ({came['bytes']} bytes) from {came['url']}. "
                    f"Nothing was kept. If it changed upstream on purpose, delete {name!r} from {lock_file}."
                )
        wanted = dict(sorted({**known, **{name: dict(came) for name, came in downloads.items()}}.items()))
        if wanted != known:
            with whole_file(lock_file) as part:
                part.write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")


def _read(lock_file: Path) -> dict:
    if not lock_file.exists():
        return {}
    try:
        known = json.loads(lock_file.read_text(encoding="utf-8"))
        {(record["sha256"], record["bytes"], record["url"]) for record in known.values()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BiasflowError(
            f"{lock_file}: not a lock file ({type(error).__name__}: {error}); restore it, or delete it to record anew."
        ) from error
    return known
