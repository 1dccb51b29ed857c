"""Analyses of a study (effects, curves and the Pareto front): selects their runs, axes and methods."""

import math
from collections.abc import Sequence

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.arguments import takes
from ssdlab.study.store.runs import Runs
from ssdlab.study.survey import curves, effects, front, linked
from ssdlab.study.survey.outcome import estimate
from ssdlab.study.sweep import factorial
from ssdlab.study.sweep.axes import TRACE, Range
from ssdlab.study.sweep.design import MEANINGS

LOSSES_OF_TRACES = (
    "losses are not shown for several traces, because they would be relative to the best value of the easiest trace; "
    "sweep each trace separately"
)


class Questions(Runs):
    """Runs of a study, with analyses: effects, curves and the Pareto front."""

    @takes(outcome="write_amplification")
    def effects(self, outcome: str) -> effects.Effects:
        """Returns the effect of each axis on an outcome, alone and in pairs with other axes.

        Linked settings count as one axis. The design determines the method: contrasts for a two-level factorial;
        analysis of variance for a grid without gaps; Sobol' indices for a Saltelli design; differences from the first
        point for a one-factor-at-a-time design. All other designs use a linear least-squares fit.

        Raises:
            ConfigError: If the outcome is unknown, or the design needs points that are missing.
        """
        asked = self.outcomes([outcome])[0]
        keys, name = [one["keys"] for one in self.plan["axes"]], self.plan["design"]["name"]
        points, axes = linked.joined(self.values(asked), keys), [*map(linked.name, keys)]
        if not axes:
            raise ConfigError(
                "the study varies no setting, so it has no effects; sweep with an axis, such as device.op=7%,28%"
            )
        notes: list[str] = []
        shares: list[effects.Share] = []
        lacking = self._lacking([asked], len(points))
        if name in ("factorial", "saltelli", "one-at-a-time") and lacking:
            raise ConfigError(f"{lacking}, but a {name} design needs all points; {self._mend()}")
        has_all = False
        if name == "factorial":
            has_all = len(points) == 1 << len(axes)
            resolution = self.plan["design"]["resolution"]
            columns = factorial.columns(len(axes), resolution) if resolution else [1 << at for at in range(len(axes))]
            effects_of, shares, notes = effects.two_level(axes, columns, points)
        elif name == "saltelli":
            effects_of, _, notes = effects.sampled(axes, points)
            shares = effects.indices(axes, points, self.plan["design"]["seed"])
        elif name == "one-at-a-time":
            effects_of = effects.one_at_a_time(axes, points)
        elif name == "grid" and not lacking and not self._gaps():
            has_all = True
            effects_of, shares = effects.complete(axes, points)
        else:
            effects_of, shares, notes = effects.sampled(
                axes, points, f"{lacking}: {self._mend()}" if lacking else effects.SAMPLE_MORE
            )
            if name == "grid":
                notes.insert(0, "the grid lacks some points, so a linear fit replaces the analysis of variance")
        if has_all and TRACE in self.columns:
            has_all = False
            notes.append(LOSSES_OF_TRACES)
        if self.seeds == "1" and name in ("factorial", "grid", "one-at-a-time"):
            notes.append("effects have no confidence intervals with one seed; sweep with 5 seeds, for example")
        return effects.Effects(
            about=self.title,
            source=self._source(),
            outcome=asked,
            method=MEANINGS[name],
            mean=sum(point.mean for point in points) / len(points),
            effects=tuple(effects_of),
            shares=tuple(shares),
            losses=tuple(effects.losses(axes, points, asked) if has_all else ()),
            notes=[*self._remarks(lacking), *notes],
        )

    def _gaps(self) -> bool:
        """True if the study's grid lacks some combinations of axis values."""
        combinations = math.prod(len(one["levels"]) for one in self.plan["axes"])
        return combinations * int(self.plan["seeds"]) != self.asked

    @takes(outcome="write_amplification", x="device.op", by="device.op")
    def curves(self, outcome: str, x: str | None = None, by: str | None = None) -> curves.Curves:
        """Returns an outcome as curves over the axis `x`, one for each value of the axis `by`, averaged over all other
        axes.

        Args:
            outcome: Name of the outcome.
            x: Axis along the curves, with its linked settings; by default the axis with the most values.
            by: Axis with a curve for each value. If both `x` and `by` are omitted, `by` is the axis with the second
                most values among the axes that are not sampled.

        Raises:
            ConfigError: If the outcome or an axis is unknown.
        """
        asked = self.outcomes([outcome])[0]
        values = self.values(asked)
        points, parts = curves.grouped(values, self._ranges())
        levels = {axis: len({point.levels[axis] for point in points}) for axis in self.axes}
        order = sorted(levels, key=lambda axis: -levels[axis])
        if not order:
            raise ConfigError(
                "the study varies no setting, so it has no curve; sweep with an axis, such as device.op=7%,28%"
            )
        together = {key: one["keys"] for one in self.plan["axes"] for key in one["keys"]}
        if x is None:
            x = next((axis for axis in order if axis not in together.get(by or "", ())), order[0])
            # By default, `by` is not a sampled axis, because a single value of a sampled axis has too few samples for a
            # curve.
            by = by or next((axis for axis in order if axis != x and axis not in parts), None)
        for axis in (x, by):
            if axis is not None and axis not in self.columns:
                raise ConfigError(f"unknown axis {text.path(axis)}; the axes are {', '.join(self.columns)}")
        if x == by:
            raise ConfigError(f"{x} is used for both x and by; choose another axis for one of them")
        # Joins each axis with its linked settings, except a linked setting that the user chose as the other axis.
        shown = [[axis, *(key for key in together[axis] if key not in (x, by))] for axis in (x, by) if axis]
        names = [*map(linked.name, shown)]
        x, by = names[0], names[1] if by else None
        return curves.Curves(
            about=self.title,
            source=self._source(),
            outcome=asked,
            x=x,
            by=by,
            cells=tuple(curves.cells(linked.joined(points, shown), x, by)),
            others=tuple(key for key, keys in together.items() if not any(one[0] in keys for one in shown)),
            parts=parts,
            notes=[
                *self._remarks(self._lacking([asked], len(values))),
                *(
                    f"values of {axis} are grouped into {text.count(len(parts[axis]))} bins"
                    for axis in (x, by)
                    if axis in parts
                ),
            ],
        )

    def _ranges(self) -> dict[str, Range]:
        """Returns the range of each sampled axis, by setting key."""
        return {
            one["keys"][0]: Range.of(*(level[0] for level in one["levels"]), log=one["log"])
            for one in self.plan["axes"]
            if one["range"]
        }

    @takes(outcomes=["write_amplification", "time.iops:max"])
    def pareto(self, outcomes: Sequence[str] = ()) -> front.Front:
        """Returns the Pareto front: points that no other point beats in all outcomes, using means over seeds.

        Args:
            outcomes: Two or more outcomes, such as `["write_amplification", "time.iops:max"]`; by default the
                outcomes of the study.

        Raises:
            ConfigError: If there are fewer than two outcomes, an outcome is unknown, or no point has all outcomes.
        """
        asked = self.outcomes(outcomes)
        if len(asked) < 2:
            raise ConfigError(
                "a Pareto front needs two or more outcomes; add them, such as write_amplification and time.iops:max"
            )
        rows = zip(*(self._at_each_point(one) for one in asked), strict=True)
        having = [row for row in rows if all(point.values for point in row)]
        if not having:
            names = " and ".join(one.figure for one in asked)
            raise ConfigError(f"no point has values for all of {names}; choose outcomes that occur in the same runs")
        # Points with the same values on all sampled axes count only once.
        kept = [*{tuple(row[0].levels.values()): row for row in having}.values()]
        estimates = [tuple(estimate(point.values) for point in row) for row in kept]
        best = front.on_the_front([[one.mean for one in row] for row in estimates], [one.large for one in asked])
        return front.Front(
            about=self.title,
            source=self._source(),
            axes=self.columns,
            outcomes=asked,
            candidates=[
                front.Candidate(row[0].levels, means, is_best)
                for row, means, is_best in zip(kept, estimates, best, strict=True)
            ],
            notes=self._remarks(self._lacking(asked, len(having))),
        )
