"""Builds the report page on the effects of axes on an outcome."""

from ssdlab import text
from ssdlab.study.survey.effects import Effects
from ssdlab.view.page import Figure, Item, Page, Paragraph, Section, Table, known
from ssdlab.view.pages.figures import form, signed

BEYOND = (
    "* outside 0 to 100 % because of sampling error; the number after ± is half the width of the 95 % confidence "
    "interval. Use more --samples for a better estimate."
)


def page(effects: Effects) -> Page:
    """Returns the report page on the effects of axes on an outcome."""
    figure = effects.outcome.figure
    write = form(figure)
    rows = [
        [effect.term, effect.level, signed(figure, effect.size), _interval(figure, effect.size, effect.half_width)]
        for effect in effects.effects
    ]
    items: list[Item] = [Table(("axis", "value", "effect", "95 % interval"), rows, title="Effects", left=2)]
    if effects.shares:
        totals = any(share.total is not None for share in effects.shares)
        headers = ("axis", "share of the variance", *(("with interactions",) if totals else ()))
        shares = [
            [share.term, _share(share.share, share.half_width), _share(share.total, share.total_half_width)]
            for share in effects.shares
        ]
        rows = [cells[: len(headers)] for cells in shares]
        items.append(Table(headers, rows, title="Variance"))
        if any(cell.endswith("*") for row in rows for cell in row):
            items.append(Paragraph(BEYOND, "soft"))
    if effects.losses:
        headers = ("axis", "value", "best outcome", "loss")
        rows = [[loss.term, loss.level, write(loss.best), known(text.percent, loss.lost)] for loss in effects.losses]
        items.append(Table(headers, rows, title="Loss with one axis fixed", left=2, most=40))
    return Page(
        title=f"effects on {figure} ({'higher' if effects.outcome.large else 'lower'} is better)",
        lead=[Paragraph(effects.about, "soft"), Paragraph(f"mean over all points: {write(effects.mean)}")],
        remarks=effects.notes,
        sections=[Section("At a glance", [Figure(effects.plot.chart)], terminal=False), Section("", items)],
    )


def _interval(figure: str, size: float, half_width: float | None) -> str:
    if half_width is None:
        return text.MISSING
    return f"{signed(figure, size - half_width)} to {signed(figure, size + half_width)}"


def _share(share: float | None, half_width: float | None) -> str:
    if share is None:
        return text.MISSING
    if half_width is None:
        return f"{100 * share:.1f} %"
    # Impossible even after rounding for display.
    star = "" if 0 <= round(share, 3) <= 1 else " *"
    return f"{100 * share:.1f} % ± {100 * half_width:.1f}{star}"
