"""Every job a person or CI can run. Plain `nox` is what CI runs on a machine without a GPU.

Environments live in `.nox/`: starting from one costs a second, installing torch a minute, so the
sessions that need the same packages share one.
"""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path

import nox

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))

from ci.environment import FRONTENDS, PYTHONS, Environment, needs  # noqa: E402
from ci.other_pythons import left_out  # noqa: E402
from ci.sessions import report_at_exit, timed  # noqa: E402

nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "types", "layers", "tests", "wheels", "docs", "examples"]

PROJECTS = sorted(ROOT.glob("packages/*/pyproject.toml"))
PACKAGES = {p.parent.name: tomllib.loads(p.read_text())["project"] for p in PROJECTS}
SOURCES = [str(p.parent.relative_to(ROOT) / "src") for p in PROJECTS]
TESTED = [("hidet-core", v) for v in PYTHONS] + [(n, PYTHONS[0]) for n in FRONTENDS]
TOOLS = ("pytest", "pytest-xdist", "hypothesis")
BESIDE = {
    "hidet-onnx": ("onnxruntime", "Pillow", "google-re2", "scikit-learn", "skl2onnx"),
    # There is no wheel for Python 3.14; its tests say so where it is missing.
    "hidet-tf": ("tensorflow-cpu; python_version < '3.14'", "keras"),
}
"""What the tests of a package compare with, or make their models with."""
TENSORFLOW = (
    *("docs/start-tensorflow.md", "docs/tensorflow.md", "docs/add-a-tensorflow-converter.md"),
    "packages/hidet-tf/README.md",
)
KERAS_BENCHMARKS = ["benchmarks/tests/test_tensorflow.py", "benchmarks/tests/test_archives.py"]
"""The pages that need TensorFlow, which lies in an environment of its own."""
SMOKE = (
    "import hidet; x = hidet.symbol([2, 7]); y = hidet.ops.softmax(x, 1); "
    "print(hidet.trace_from(y).build()(hidet.ones([2, 7])).numpy().sum(1))"
)
"""What a fresh installation has to do: compile an operator and run it."""
TOY = "packages/hidet-core/tests/toy_frontend"
report_at_exit()


@nox.session(tags=["checks"])
@timed
def lint(session: nox.Session) -> None:
    """Style, format, the sizes of files and functions, and the tests of ci/."""
    python = checks(session)
    python.run("-m", "ruff", "check", ".")
    python.run("-m", "ruff", "format", "--check", ".")
    python.run("-m", "ci.budget")
    python.run("-m", "ci.links")
    python.pytest("ci/tests")


@nox.session(tags=["checks"])
@timed
def types(session: nox.Session) -> None:
    """Strict types in core and the frontends."""
    checks(session).run("-m", "mypy", *SOURCES)


@nox.session(tags=["checks"])
@timed
def layers(session: nox.Session) -> None:
    """Who may import whom."""
    python = checks(session)
    lint_imports = "from importlinter.cli import lint_imports_command as run; run()"
    python.run("-c", lint_imports, env={"PYTHONPATH": ":".join(SOURCES)})


@nox.session
@nox.parametrize(
    ("package", "version"),
    [nox.param(n, v, id=n if v == PYTHONS[0] else f"{n}-{v}", tags=[n]) for n, v in TESTED],
)
@timed
def tests(session: nox.Session, package: str, version: str) -> None:
    """The tests of one package that need no GPU; core's on every Python present."""
    python = environment(session, package, version)
    other = [] if version == PYTHONS[0] else left_out(f"packages/{package}/tests")
    folders = [f"packages/{package}/tests"]
    folders += ["benchmarks/tests"] if package == "hidet-torch" else []
    folders += KERAS_BENCHMARKS if package == "hidet-tf" else []
    # Two processes for two cores; a file stays in one, so that what its tests share is made once.
    both = ["-n", "2", "--dist", "loadfile"]
    python.pytest(*folders, "-m", "not gpu", *both, *other, *session.posargs)


@nox.session(tags=list(PACKAGES))
@timed
def wheels(session: nox.Session) -> None:
    """Build all wheels into dist/ and prove them in an environment that sees no sources."""
    builder = Environment(session, "builder")
    builder.install("build", "hatchling>=1.27")
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    for folder in [*(f"packages/{name}" for name in PACKAGES), TOY]:
        out = "dist" if folder != TOY else ".nox/toy"
        builder.run("-m", "build", "--wheel", "--no-isolation", "-o", out, folder, silent=True)
    clean = Environment(session, "clean", fresh=True)
    built = [*(ROOT / "dist").glob("*.whl"), *(ROOT / ".nox/toy").glob("*.whl")]
    clean.install("pytest", *map(str, built))
    clean.run("-m", "ci.entry_points", *FRONTENDS)
    contracts = [f"packages/{name}/tests/test_contract.py" for name in FRONTENDS]
    words = "packages/hidet-core/tests/cli/test_explain.py"  # its page lies in the wheel
    clean.pytest(*contracts, words, f"{TOY}/tests")


@nox.session(default=False)
@timed
def release(session: nox.Session) -> None:
    """What the release workflow does, but for publishing: `nox -s release -- --dry-run`."""
    if session.posargs != ["--dry-run"]:
        session.error("a tag publishes, by .github/workflows/release.yml; say -- --dry-run here")
    builder = Environment(session, "builder")
    builder.install("build", "hatchling>=1.27", "twine")
    out = ROOT / ".nox" / "release"
    shutil.rmtree(out, ignore_errors=True)
    for name in PACKAGES:
        builder.run(
            "-m", "build", "--no-isolation", "-o", str(out), f"packages/{name}", silent=True
        )
    builder.run("-m", "twine", "check", "--strict", *map(str, sorted(out.iterdir())))
    clean = Environment(session, "clean", fresh=True)
    clean.install(*map(str, out.glob("*.whl")))
    clean.run("-m", "ci.entry_points", *FRONTENDS)
    clean.run("-c", SMOKE)


@nox.session(tags=["docs", *PACKAGES])
@timed
def docs(session: nox.Session) -> None:
    """Run every fence of the READMEs and docs/; build the site, with every public name, in .nox."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("packages/*/README.md"), *ROOT.glob("docs/**/*.md")]
    pages += ROOT.glob("packages/*/src/**/*.md")  # that pages of the site include
    names = sorted({str(page.relative_to(ROOT)) for page in pages} - {*TENSORFLOW})
    torch(session).run("-m", "ci.fences", *names)
    tensorflow(session).run("-m", "ci.fences", *TENSORFLOW)
    site = Environment(session, "mkdocs")  # not "site": mkdocs empties the folder that it writes to
    site.install("mkdocs-material", "mkdocstrings-python", "ruff")  # which breaks long signatures
    quiet = {"NO_MKDOCS_2_WARNING": "1"}
    # Not with --quiet: then no warning is counted, and --strict lets everything pass.
    site.run("-m", "mkdocs", "build", "--strict", env=quiet)
    torch(session).run("-m", "ci.reference", ".nox/site/reference")


@nox.session(tags=["docs", *PACKAGES])
@timed
def examples(session: nox.Session) -> None:
    """Run every file in examples/ and compare its output with docs/gallery.md."""
    torch(session).run("-m", "ci.examples", "examples")
    tensorflow(session).run("-m", "ci.examples", "examples/tensorflow")


@nox.session(default=False)
@timed
def gpu(session: nox.Session) -> None:
    """The tests that need an NVIDIA GPU, of every package, by the python3 that has torch."""
    session.run("ci/gpu", *session.posargs, external=True)


@nox.session(default=False)
@timed
def bench(session: nox.Session) -> None:
    """The benchmarks; arguments after `--` go to benchmarks/run.py."""
    benchmark(session, "run")


@nox.session(default=False)
@timed
def bench_onnx(session: nox.Session) -> None:
    """Exported networks beside hidet-torch and ONNX Runtime; see benchmarks/onnx.py."""
    benchmark(session, "onnx")


@nox.session(default=False)
@timed
def bench_tensorflow(session: nox.Session) -> None:
    """Keras models beside TensorFlow, XLA and ONNX Runtime; see benchmarks/tensorflow.py."""
    python = tensorflow(session)
    python.install("tf2onnx", "onnxruntime")
    python.run("-m", "benchmarks.tensorflow", *session.posargs)


@nox.session(default=False)
@timed
def zoo(session: nox.Session) -> None:
    """All of keras.applications without an operator left; arguments after `--` are names."""
    tensorflow(session).run("-m", "ci.keras_zoo", *session.posargs)


@nox.session(default=False)
@timed
def oldest_tensorflow(session: nox.Session) -> None:
    """hidet-tf's tests with the oldest TensorFlow it takes, and the numpy that this one needs."""
    python = Environment(session, "oldest-tensorflow", unpinned=True)
    python.install("tensorflow-cpu==2.17.*", "numpy<2", *TOOLS)
    python.editable(*needs("hidet-tf", PACKAGES))
    both = ["-n", "2", "--dist", "loadfile"]
    python.pytest("packages/hidet-tf/tests", "-m", "not gpu", *both, *session.posargs)


@nox.session(default=False)
@timed
def demo(session: nox.Session) -> None:
    """The main job: compile networks and compare with eager and inductor."""
    benchmark(session, "demo")


@nox.session(default=False)
@timed
def fuzz(session: nox.Session) -> None:
    """Graphs made at random against float64; arguments after `--` go to ci/fuzz.py."""
    torch(session).run("-m", "ci.fuzz", *session.posargs)


@nox.session(default=False)
@timed
def onnx_suite(session: nox.Session) -> None:
    """ONNX's official suite, right and compiled; arguments after `--` go to ci/onnx_suite."""
    environment(session, "hidet-onnx", PYTHONS[0]).run("-m", "ci.onnx_suite", *session.posargs)


@nox.session(default=False)
@timed
def operators(session: nox.Session) -> None:
    """PyTorch's own samples of its operators; arguments after `--` go to ci/operator_suite."""
    torch(session).run("-m", "ci.operator_suite", *session.posargs)


@nox.session(default=False)
@timed
def onnx_fuzz(session: nox.Session) -> None:
    """Damaged ONNX models end in results or errors; arguments after `--` go to ci/onnx_fuzz."""
    environment(session, "hidet-onnx", PYTHONS[0]).run("-m", "ci.onnx_fuzz", *session.posargs)


def benchmark(session: nox.Session, name: str) -> None:
    """Run a file of benchmarks/ with torch and the models' package."""
    torch(session).run("-m", f"benchmarks.{name}", *session.posargs)


def checks(session: nox.Session) -> Environment:
    """The environment of the tools that read sources; core's dependencies give mypy their types."""
    python = Environment(session, "checks")
    dependencies = PACKAGES["hidet-core"]["dependencies"]
    python.install("ruff", "mypy", "import-linter", "pytest", *dependencies)
    return python


def environment(session: nox.Session, package: str, version: str) -> Environment:
    """Where `package` is tested: hidet-torch with docs, examples and the demo, others alone."""
    if package == "hidet-torch":
        return torch(session)
    python = Environment(session, f"{package}-{version}", version)
    python.install(*TOOLS, *BESIDE.get(package, ()))
    python.editable(*needs(package, PACKAGES))
    return python


def torch(session: nox.Session) -> Environment:
    """The one environment with torch and the models' package in it, and all four of ours."""
    python = Environment(session, "torch")
    python.install("torch", "expecttest", *TOOLS, "-r", "benchmarks/requirements.txt")
    python.editable(*PACKAGES)
    return python


def tensorflow(session: nox.Session) -> Environment:
    """The environment with TensorFlow, which has no place beside torch: both take a gigabyte."""
    return environment(session, "hidet-tf", PYTHONS[0])
