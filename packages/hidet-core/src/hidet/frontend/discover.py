"""Finding frontend plugins by their entry points; imports no framework before one is loaded."""

from importlib import import_module
from importlib.metadata import (
    EntryPoint,
    PackageNotFoundError,
    entry_points,
    packages_distributions,
    version,
)
from types import ModuleType

from packaging.requirements import Requirement

from hidet.errors import FrontendMismatch, FrontendMissing
from hidet.frontend.api import API, Frontend

GROUP = "hidet.frontends"


def installed() -> dict[str, Frontend]:
    """The manifest of every installed frontend by name; raises for one that `frontend` refuses."""
    return {name: frontend(name) for name in sorted(_entries())}


def frontend(name: str) -> Frontend:
    """The manifest of the frontend `name`, written for this core's API.

    Raises `FrontendMissing` where there is none, `FrontendMismatch` where two distributions claim
    the name, the manifest cannot be imported, was written for another API, or is none of that name.
    """
    entries = _entries()
    if name not in entries:
        others = ", ".join(sorted(entries)) or "none"
        raise FrontendMissing(
            f"no frontend {name!r} is installed (installed: {others})",
            help=f"pip install hidet-{name}",
        )
    if len(entries[name]) > 1:
        claims = " and ".join(sorted(map(_distribution, entries[name])))
        raise FrontendMismatch(
            f"the frontend {name!r} is claimed by {claims}", help="uninstall all but one of them"
        )
    [entry] = entries[name]
    return _checked(entry, _manifest(entry))


def load(name: str) -> ModuleType:
    """The module of the frontend `name`, imported; `hidet.<name>` resolves to it.

    Raises as `frontend` does, and where the framework is absent or of a version never tested.
    """
    manifest = frontend(name)
    require_framework(manifest)
    return import_module(manifest.module)


def require_framework(manifest: Frontend) -> None:
    """Raise FrontendMissing where the framework is absent, FrontendMismatch for a version never
    tested; imports nothing."""
    if manifest.requires:
        _check_framework(manifest, _distribution(_entries()[manifest.name][0]))


def _entries() -> dict[str, list[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        found.setdefault(entry.name, []).append(entry)
    return found


def _manifest(entry: EntryPoint) -> object:
    """What an entry point announces; FrontendMismatch where its module cannot be imported."""
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        plugin = _distribution(entry)
        raise FrontendMismatch(
            f"{plugin} announces a frontend {entry.name!r} that cannot be imported: {error}",
            help=f"pip install --force-reinstall {plugin.split()[0]}, or uninstall it",
        ) from error


def _checked(entry: EntryPoint, manifest: object) -> Frontend:
    plugin = _distribution(entry)
    if not isinstance(manifest, Frontend) or manifest.name != entry.name:
        raise FrontendMismatch(
            f"{plugin} announces a frontend {entry.name!r}, but {entry.value} is {manifest!r}",
            help=f"report it to the authors of {plugin}",
        )
    if manifest.api != API:
        older = plugin if manifest.api < API else "hidet-core"
        raise FrontendMismatch(
            f"{plugin} was written for frontend API {manifest.api}, "
            f"hidet-core {version('hidet-core')} has frontend API {API}",
            help=f"pip install --upgrade {older.split()[0]}",
        )
    return manifest


def _check_framework(manifest: Frontend, plugin: str) -> None:
    """Compare the framework's installed version with the manifest's range, importing nothing."""
    requirement = Requirement(manifest.requires)
    found = _installed_version(requirement.name, manifest.framework)
    if found is None:
        raise FrontendMissing(
            f"{plugin} needs {manifest.requires}, and {manifest.framework} is not installed",
            help=f"pip install '{manifest.requires}'",
        )
    if not requirement.specifier.contains(found, prereleases=True):
        raise FrontendMismatch(
            f"{plugin} was tested with {manifest.requires}, "
            f"and {manifest.framework} {found} is installed",
            help=f"pip install '{manifest.requires}', or a version of {plugin.split()[0]} "
            f"for {manifest.framework} {found}",
        )


def _installed_version(distribution: str, module: str) -> str | None:
    """By the distribution's usual name, else by whichever distribution brings `module`."""
    for candidate in (distribution, *packages_distributions().get(module, ())):
        try:
            return version(candidate)
        except PackageNotFoundError:
            continue
    return None


def _distribution(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value
