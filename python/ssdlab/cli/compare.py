"""The command `ssdlab compare`."""

from pathlib import Path

from ssdlab._ssdlab import ConfigError, variants
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import group, option
from ssdlab.cli.options import Output, RunSettings
from ssdlab.cli.progress import display
from ssdlab.cli.traces import reads_trace
from ssdlab.model.config import Config, layered, presets, set_by
from ssdlab.model.trace_file import TraceFile
from ssdlab.study.compare import Comparison
from ssdlab.study.compare import compare as run_cases

app = App()

EXAMPLES = """
ssdlab compare trace.csv --case ftl.page.gc=greedy --case ftl.page.gc=fifo
ssdlab compare trace.csv -p small-tlc --case page --case dftl --case fast
ssdlab compare t.csv --case 'a: device.op=7%' --case 'b: device.op=28% seed=2'
ssdlab compare --workload zipf --case preset=faster --case mine.toml
ssdlab compare --case device.op=7% --case device.op=28% --seeds 5 --out out/op
"""


NAMED = ("ftl", "ftl.page.map", "ftl.page.gc")
"""Settings that a case may give as a value without the key, such as `dftl`."""


def _chosen(case: str, word: str) -> str | None:
    """Returns the setting that has a value called `word`, or None. A preset of the same name as an FTL or a map is not
    meant, because cases mostly differ in the FTL.
    """
    keys = [key for key in NAMED if word in (name for name, _ in variants(key))]
    if len(keys) > 1:
        raise ConfigError(f"--case {case!r}: {word!r} is ambiguous; use {' or '.join(f'{key}={word}' for key in keys)}")
    return keys[0] if keys else None


def _case(text: str, settings: RunSettings) -> tuple[str, Config]:
    """Returns label and configuration of a case given as `LABEL:SETTINGS` text."""
    label, colon, rest = text.partition(":")
    # If an '=' precedes the first colon, the colon is part of a value (a mix of request sizes), and the case has no
    # label.
    if not colon or "=" in label:
        label, rest = text, text
    label = label.strip()
    named: list[str] = []
    files: list[Path] = []
    sets: list[str] = []
    for word in rest.split():
        if word.startswith("preset="):
            named.append(word.removeprefix("preset="))
        elif "=" in word:
            sets.append(word)
        elif word.endswith(".toml"):
            files.append(Path(word))
        elif key := _chosen(text, word):
            sets.append(f"{key}={word}")
        elif word in {one.name for one in presets()}:
            named.append(word)
        else:
            raise ConfigError(
                f"--case {text!r}: {word!r} must be KEY=VALUE, FILE.toml, or the name of an FTL, policy or preset"
            )
    if len(named) > 1:
        raise ConfigError(f"--case {text!r}: has the presets {' and '.join(named)}; {options.ONE_PRESET}")
    preset, origin = (named[0], f"--case {label}: preset") if named else (settings.preset, "--preset")
    layers = [[*settings.shortcuts, *set_by("--set", settings.set)], set_by(f"--case {label}", sets)]
    return label, layered(preset, [*settings.config, *files], layers, origin)


@app.command(examples=EXAMPLES)
@reads_trace
def compare(
    trace: TraceFile | None = None,
    settings: RunSettings = group(),
    case: list[str] = option(
        "--case '[LABEL:] SETTING...'",
        "One configuration: settings KEY=VALUE, preset=NAME or FILE.toml, on top of the other options. The bare name "
        "of an FTL, map, victim policy or preset also works.",
    ),
    seeds: int = option(
        "--seeds INTEGER",
        "Run each case with this many successive seeds, starting at its own seed; show mean ± standard deviation.",
        default=1,
        min=1,
        max=1_000,
    ),
    jobs: int | None = options.JOBS,
    output: Output = options.saving(Comparison),
) -> int:
    """Shows the most important metrics of each case, and marks the best value of each row with *; --all shows every
    metric. Simulations run in parallel; the output does not depend on --jobs.
    """
    if len(case) < 2:
        raise ConfigError(
            "nothing to compare; use --case at least twice, such as --case device.op=7% --case device.op=28%"
        )
    options.refuse_both(trace, settings.workload)
    cases = [_case(text, settings) for text in case]
    if len({label for label, _ in cases}) < len(cases):
        raise ConfigError("two cases have the same label; use different labels, as in --case 'mine: device.op=7%'")
    with display() as shown:
        found = run_cases(dict(cases), trace, seeds=seeds, jobs=jobs, monitor=shown.watch)
    return output.deliver(found)
