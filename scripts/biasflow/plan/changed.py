"""What was changed since results were made: told before a run replaces finished results by others."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

from biasflow.base.errors import BiasflowError
from biasflow.base.paths import SHOWN, is_corpus_file, package_file
from biasflow.base.planned import CODE, Planned, differences, edited_inputs, made, other_inputs, plain, short
from biasflow.base.records import start_of

ABSENT = object()
IDLE = ("run", "replace", "mirror", "encoder")  # keys on which no result depends; the path of an encoder has `encoder`
ADDED_TO = ("ask", "papers", "metrics")  # whoever asks for more here gets more results
ABSENT_NOW, SHOWN_KEYS = "absent now", 3
NAMED = ("encoders", "tasks", "methods", "given")  # another name here changes nothing of what there is


def check_kept(config: Mapping, jobs: Mapping[str, Planned], content: Callable[[str], str | None]) -> None:
    """Raise BiasflowError if finished results would be made again because a key of the configuration, or the content of
    a user's file, has changed since: how many, what changed, and what to do. content: the sha256 of a user's file, None
    for any other.

    Whoever only asks for more is not asked, nor whoever edited code; nor where the key `replace` says so."""
    if config["replace"]:
        return
    scripts, package = {about.get("script") for about in config["given"].values()}, package_file("")

    @cache
    def data(file: str) -> str | None:
        if is_corpus_file(file):
            return next((record["sha256"][file] for record in made([file])[0].values()), None)
        return None if file in scripts or file.startswith(package) else content(file)

    due, _ = made(path for path, job in jobs.items() if job.due and not _is_shown(path) and Path(path).exists())
    keys, files = {}, []
    for path, record in due.items():
        keys |= _changed_keys(config, record, jobs[path])
        files += [f"{file} has another content than before" for file in edited_inputs(record, data)]
        files += _of_encoders(record, jobs[path])
    if keys:
        # Entries that a paper brings come and go with its own keys, which say more.
        first, *others = sorted(keys, key=lambda key: (ABSENT_NOW in keys[key], key.count(".")))
        more = f" and {len(others) - SHOWN_KEYS} more" if len(others) > SHOWN_KEYS else ""
        why = f"{first} {keys[first]}" + (f" (changed, too: {', '.join(others[:SHOWN_KEYS])}{more})" if others else "")
    elif files:
        why = files[0]
    else:
        return
    raise BiasflowError(
        f"{why}: {len(due)} finished results would be made again; to keep them, name another run (run=NAME), to "
        "replace them, add replace=true, both behind --config"
    )


def _of_encoders(record: Mapping, job: Planned) -> Iterator[str]:
    """What is told of files that lie in the folder of an encoder now and did not then, or the other way round."""
    for file in other_inputs(record, job):
        config = str(Path(file).with_name("config.json"))
        if config in record["inputs"] and config in job.inputs and not file.startswith(package_file("")):
            yield f"{file} was {'' if file in record['inputs'] else 'not '}read before"


def _is_shown(path: str) -> bool:
    """Whether a result is a table, a figure or a page: made again in seconds, whatever is asked for."""
    parts = Path(path).parts
    return not is_corpus_file(path) and (len(parts) == 3 or parts[2] in SHOWN)


def _changed_keys(config: Mapping, record: Mapping, job: Planned) -> dict[str, str]:
    """Key -> what it was and is, for a result that has other parameters or inputs now, whatever became of its code."""
    before, now = ({name: value for name, value in of.items() if name != CODE} for of in (record["params"], job.params))
    if not (differences(before, now) or other_inputs(record, job)) or not (made_with := start_of(record).get("config")):
        return {}
    devices = [{"device": of.get("device", "")} for of in (before, now)]  # what `auto` has become
    return dict(changes(made_with | devices[0], plain(config.items()) | devices[1]))


def changes(before: object, now: object, key: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield the keys of a configuration that were changed, with what they were and are; what was only added to is
    left out."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for name in [*now, *(name for name in before if name not in now)]:
            if key or name not in IDLE:
                yield from changes(before.get(name, ABSENT), now.get(name, ABSENT), (*key, name))
    elif before != now and not _is_added(before, now, key):
        was = "absent" if before is ABSENT else _shown(before)
        yield ".".join(key), f"was {was}, is {ABSENT_NOW if now is ABSENT else _shown(now)}"


def _shown(value: object) -> str:
    return "there" if isinstance(value, Mapping) else short(value)


def _is_added(before: object, now: object, key: tuple[str, ...]) -> bool:
    """Whether there is more now, and all that there was. Numbers of a metric are its settings, other lists are of
    names."""
    if before is ABSENT:
        return key[0] in ADDED_TO or (key[0] in NAMED and len(key) == 2)
    if not isinstance(before, list) or key[0] not in ADDED_TO:
        return False
    if now is None:  # all that there are
        return True
    names = key[0] != "metrics" or all(isinstance(item, str) for item in before)
    return names and isinstance(now, list) and all(item in now for item in before)
