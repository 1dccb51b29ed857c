"""Runs a screening: first a design that varies all factors, then all combinations of the strongest factors."""

import os
import tempfile
from pathlib import Path

from ssdlab.model.requests import Monitor
from ssdlab.study.screening import contrast
from ssdlab.study.screening.contrast import Contrast
from ssdlab.study.screening.definition import Screening
from ssdlab.study.screening.plan import FIRST, Plan
from ssdlab.study.screening.result import Part, Screened
from ssdlab.study.store.study import Study
from ssdlab.study.sweep import running
from ssdlab.study.sweep.design import Design

STUDY = "study"


def run(
    screening: Screening,
    form: str,
    overrides: tuple[str, ...],
    out: str | os.PathLike[str] | None,
    jobs: int | None,
    cluster: str | None,
    monitor: Monitor | None,
) -> Screened:
    """Runs a screening; see `Screening.run`."""
    if out is None:
        with tempfile.TemporaryDirectory(prefix="ssdlab-screening-") as made:
            return run(screening, form, overrides, made, jobs, cluster, monitor)
    planned = Plan(screening, screening.forms[form], overrides)
    axes, design = planned.form.axes, planned.form.design
    folder = Path(out) / STUDY

    def study(phase: str) -> Study:
        def watch(_phase: str, done: int, total: int | None, requests: int) -> bool:
            return monitor is not None and bool(monitor(phase, done, total, requests))

        return running.run(planned.as_sweep(), folder, jobs=jobs, cluster=cluster, monitor=watch)

    planned.add(FIRST, [*design.points(axes)], range(1, 1 + planned.form.seeds))
    current = study(FIRST)
    parts = [Part.of(screening, current, FIRST, axes, design, {})]
    if current.partial:
        return Screened(screening=screening, form=form, overrides=planned.overrides, study=current, parts=parts)
    every = Design("factorial")
    fresh = range(1 + planned.form.seeds, 1 + planned.form.seeds + planned.form.fresh_seeds)
    refined = []
    for claim in screening.claims:
        asked = Contrast(claim.figure, claim.against)
        if asked not in parts[0].gains:
            continue
        chosen = contrast.strongest(parts[0].effects[asked], planned.form.refined)
        around = contrast.largest(parts[0].gains[asked]).levels
        varied = [one for one in axes if one.name in chosen]
        planned.add(claim.says, [{**around, **point} for point in every.points(varied)], fresh)
        kept = {name: label for name, label in around.items() if name not in chosen}
        refined.append((claim.says, varied, kept))
    current = study("refinement")
    parts += [Part.of(screening, current, name, varied, every, kept) for name, varied, kept in refined]
    return Screened(screening=screening, form=form, overrides=planned.overrides, study=current, parts=parts)
