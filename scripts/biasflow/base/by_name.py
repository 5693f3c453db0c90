"""The one way from a name to code: an entry of the registry, a job or a paper names a module, and whoever needs it asks
here. `base.code` sees no such import, so a job lists the modules that it asks for (`plan.jobs.Job.modules`)."""

from importlib import import_module
from types import ModuleType


def module_named(name: str) -> ModuleType:
    """Return a module by its full name, such as "biasflow.erasers.leace"."""
    return import_module(name)
