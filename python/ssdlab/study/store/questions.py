"""Which runs and axes of a study answer a question, and with which method."""

from collections.abc import Sequence

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.arguments import takes
from ssdlab.study.store.remarks import Remarked
from ssdlab.study.survey import curves, effects, front, indices, linked
from ssdlab.study.survey.outcome import estimate
from ssdlab.study.sweep import factorial
from ssdlab.study.sweep.axes import TRACE, Range
from ssdlab.study.sweep.design import MEANINGS

LOSSES_OF_TRACES = (
    "what would be lost by keeping a value is not told, as the best over several traces is that of the easiest, and no "
    "trace is a choice; sweep each trace by itself"
)


class Questions(Remarked):
    """Runs that are asked for effects, curves and the front."""

    @takes(outcome="write_amplification")
    def effects(self, outcome: str) -> effects.Effects:
        """What each axis does to an outcome, alone and with another.

        Settings that are linked are one axis, with all their names.
        A two-level factorial gives contrasts; a grid without gaps an analysis of variance; a Saltelli design Sobol'
        indices; one factor at a time differences from the first point; all others a straight model by least squares.

        Raises:
            ConfigError: If there is no such outcome, or points are missing that the design needs.
        """
        its = self.outcomes([outcome])[0]
        keys, name = [one["keys"] for one in self.plan["axes"]], self.plan["design"]["name"]
        points, axes = linked.joined(self.values(its), keys), [*map(linked.name, keys)]
        if not axes:
            raise ConfigError("the study varies nothing, so there are no effects; give an axis")
        notes: list[str] = []
        shares: list[effects.Share] = []
        lacking = self._lacking([its], len(points))
        if name in ("factorial", "saltelli", "one-at-a-time") and lacking:
            raise ConfigError(f"{lacking}, and a {name} design needs all; {self._mend()}")
        crossed = False
        if name == "factorial":
            crossed = len(points) == 1 << len(axes)
            resolution = self.plan["design"]["resolution"]
            columns = factorial.columns(len(axes), resolution) if resolution else [1 << at for at in range(len(axes))]
            found, shares, notes = effects.two_level(axes, columns, points)
        elif name == "saltelli":
            found, _, notes = effects.sampled(axes, points)
            shares = indices.indices(axes, points, self.plan["design"]["seed"])
        elif name == "one-at-a-time":
            found = effects.one_at_a_time(axes, points)
        elif name == "grid" and not lacking and not self._gaps():
            crossed = True
            found, shares = effects.complete(axes, points)
        else:
            found, shares, notes = effects.sampled(
                axes, points, f"{lacking}: {self._mend()}" if lacking else effects.SAMPLE_MORE
            )
            if name == "grid":
                notes.insert(0, "a grid with gaps has no analysis of variance, so a straight model stands in")
        if crossed and TRACE in self.columns:
            crossed = False
            notes.append(LOSSES_OF_TRACES)
        if self.seeds == "1" and name in ("factorial", "grid", "one-at-a-time"):
            notes.append("a single seed does not tell how sure an effect is; sweep with 5 seeds, for example")
        return effects.Effects(
            about=self.title,
            source=self._source(),
            outcome=its,
            method=MEANINGS[name],
            mean=sum(point.mean for point in points) / len(points),
            effects=found,
            shares=shares,
            losses=effects.losses(axes, points, its) if crossed else [],
            notes=[*self._remarks(lacking), *notes],
        )

    def _gaps(self) -> bool:
        """Whether combinations of a grid were left out."""
        total = 1
        for one in self.plan["axes"]:
            total *= len(one["levels"])
        return total * int(self.plan["seeds"]) != self.asked

    @takes(outcome="write_amplification", x="device.op", by="device.op")
    def curves(self, outcome: str, x: str | None = None, by: str | None = None) -> curves.Curves:
        """An outcome against an axis, averaged over the axes that are not named.

        Settings that are linked to a named one are named with it.

        Args:
            outcome: Its name.
            x: The axis; the one with most values if left out.
            by: The axis with a curve for each value; of those left the one with most values if x is left out too, but
                none of which samples were taken.

        Raises:
            ConfigError: If there is no such outcome or axis.
        """
        its = self.outcomes([outcome])[0]
        found = self.values(its)
        points, parts = curves.grouped(found, self._ranges())
        levels = {axis: len({point.levels[axis] for point in points}) for axis in self.axes}
        order = sorted(levels, key=lambda axis: -levels[axis])
        if not order:
            raise ConfigError("the study varies nothing, so there is no curve; give an axis")
        together = {key: one["keys"] for one in self.plan["axes"] for key in one["keys"]}
        if x is None:
            x = next((axis for axis in order if axis not in together.get(by or "", ())), order[0])
            # Samples are too few for all pairs of their values.
            by = by or next((axis for axis in order if axis != x and axis not in parts), None)
        for axis in (x, by):
            if axis is not None and axis not in self.columns:
                raise ConfigError(f"no axis is called {text.path(axis)}; there are {', '.join(self.columns)}")
        if x == by:
            raise ConfigError(f"{x} cannot be both along and between curves; name another axis")
        # Each with what is linked to it, unless that is shown by itself.
        shown = [[axis, *(key for key in together[axis] if key not in (x, by))] for axis in (x, by) if axis]
        names = [*map(linked.name, shown)]
        x, by = names[0], names[1] if by else None
        return curves.Curves(
            about=self.title,
            source=self._source(),
            outcome=its,
            x=x,
            by=by,
            cells=curves.cells(linked.joined(points, shown), x, by),
            others=[key for key, its in together.items() if not any(one[0] in its for one in shown)],
            parts=parts,
            notes=[
                *self._remarks(self._lacking([its], len(found))),
                *(
                    f"samples of {axis} are taken together in {text.count(len(parts[axis]))} parts of its range"
                    for axis in (x, by)
                    if axis in parts
                ),
            ],
        )

    def _ranges(self) -> dict[str, Range]:
        """The axes of which samples were taken between two ends."""
        return {
            one["keys"][0]: Range.of(*(level[0] for level in one["levels"]), log=one["log"])
            for one in self.plan["axes"]
            if one["range"]
        }

    @takes(outcomes=["write_amplification", "time.iops:max"])
    def pareto(self, outcomes: Sequence[str] = ()) -> front.Front:
        """The points that no other beats in all outcomes, by their means over seeds.

        Args:
            outcomes: Two or more, such as `["write_amplification", "time.iops:max"]`; those of the study if left out.

        Raises:
            ConfigError: If there are fewer than two, no run has one, or no point has all.
        """
        its = self.outcomes(outcomes)
        if len(its) < 2:
            raise ConfigError(
                "a front takes two outcomes or more; name them, as in -O write_amplification -O time.iops:max"
            )
        rows = zip(*(self._at_each_point(one) for one in its), strict=True)
        having = [row for row in rows if all(point.values for point in row)]
        if not having:
            names = " and ".join(one.figure for one in its)
            raise ConfigError(f"no point has {names} together; name outcomes that the same runs have")
        # Samples may be alike.
        kept = [*{tuple(row[0].levels.values()): row for row in having}.values()]
        estimates = [tuple(estimate(point.values) for point in row) for row in kept]
        best = front.on_the_front([[one.mean for one in row] for row in estimates], [one.large for one in its])
        return front.Front(
            about=self.title,
            source=self._source(),
            axes=self.columns,
            outcomes=its,
            candidates=[
                front.Candidate(row[0].levels, its_estimates, its_best)
                for row, its_estimates, its_best in zip(kept, estimates, best, strict=True)
            ],
            notes=self._remarks(self._lacking(its, len(having))),
        )
