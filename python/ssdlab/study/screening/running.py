"""Running a screening: all factors, then all combinations of those that matter."""

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
"""Folder of the study in that of a screening."""


def run(
    screening: Screening,
    form: str,
    overrides: tuple[str, ...],
    out: str | os.PathLike[str] | None,
    jobs: int | None,
    monitor: Monitor | None,
) -> Screened:
    """See `Screening.run`."""
    if out is None:
        with tempfile.TemporaryDirectory(prefix="ssdlab-screening-") as made:
            return run(screening, form, overrides, made, jobs, monitor)
    planned = Plan(screening, screening.forms[form], overrides)
    axes, design = planned.form.axes, planned.form.design
    folder = Path(out) / STUDY

    def study() -> Study:
        return running.run(planned, folder, jobs=jobs, cluster=None, monitor=monitor)

    planned.add(FIRST, [*design.points(axes)], 1)
    found = study()
    parts = [Part.of(screening, found, FIRST, axes, design, {})]
    if found.partial:
        return Screened(screening=screening, form=form, overrides=planned.overrides, study=found, parts=parts)
    every = Design("factorial")
    refined = []
    for claim in screening.claims:
        asked = Contrast(claim.figure, claim.against)
        if asked not in parts[0].gains:
            continue
        chosen = contrast.matters(parts[0].effects[asked], planned.form.refined)
        around = contrast.largest(parts[0].gains[asked]).levels
        its = [one for one in axes if one.name in chosen]
        planned.add(claim.says, [{**around, **point} for point in every.points(its)], 1 + planned.form.seeds)
        kept = {name: label for name, label in around.items() if name not in chosen}
        refined.append((claim.says, its, kept))
    found = study()
    parts += [Part.of(screening, found, name, its, every, kept) for name, its, kept in refined]
    return Screened(screening=screening, form=form, overrides=planned.overrides, study=found, parts=parts)
