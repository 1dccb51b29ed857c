"""Charts of simulated caches."""

from ssdlab.analyse.cache.result import CacheSimulation, MissRatioCurves
from ssdlab.view.chart import Axis, Chart, Line, Mark, Panel, Whiskers
from ssdlab.view.colours import colour, dash


def miss_ratios(simulation: CacheSimulation | MissRatioCurves) -> Chart:
    """Draws the miss ratios of each policy by cache size, with standard errors of estimates."""
    sizes = simulation.capacities.astype(float) * (simulation.unit_bytes or 1)
    errors = getattr(simulation, "standard_error", None)
    marks: list[Mark] = []
    for row, policy in enumerate(simulation.policies):
        percent = 100 * simulation.miss_ratio[row]
        if errors is not None and errors[row].any():
            error = 100 * errors[row]
            marks.append(Whiskers(policy, sizes, percent - error, percent + error, colour(row)))
        marks.append(Line(policy, sizes, percent, colour(row), 1.4, dash=dash(row), dots=True))
    counted = Axis("cache size (objects)", "count", log=True)
    across = Axis("cache size", "size", log=True) if simulation.unit_bytes else counted
    return Chart([Panel(marks, across, Axis("miss ratio (%)", low=0))], 3.6)
