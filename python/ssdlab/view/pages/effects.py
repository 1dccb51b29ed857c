"""The page of effects on an outcome."""

from ssdlab import text
from ssdlab.study.survey.effects import Effects
from ssdlab.view.page import Figure, Item, Page, Paragraph, Section, Table
from ssdlab.view.pages.figures import form, signed


def page(found: Effects) -> Page:
    """The page of effects."""
    figure = found.outcome.figure
    write = form(figure)
    items: list[Item] = [
        Table(
            ("axis", "value", "effect", "95 % interval"),
            [
                [one.term, one.level, signed(figure, one.size), _between(figure, one.size, one.half_width)]
                for one in found.effects
            ],
            title="Effects",
            left=2,
        )
    ]
    if found.shares:
        totals = any(one.total is not None for one in found.shares)
        headers = ("axis", "share of the variance", *(("with its interactions",) if totals else ()))
        items.append(
            Table(
                headers,
                [
                    [
                        one.term,
                        _share(one.share, one.half_width),
                        *((_share(one.total, one.total_half_width),) if totals else ()),
                    ]
                    for one in found.shares
                ],
                title="Variance",
            )
        )
    if found.losses:
        items.append(
            Table(
                ("axis", "value", "best that is left", "lost"),
                [[one.term, one.level, write(one.best), text.percent(one.lost)] for one in found.losses],
                title="What would be lost by keeping it",
                left=2,
                most=40,
            )
        )
    return Page(
        title=f"effects on {figure}, {'more' if found.outcome.large else 'less'} of which is better",
        lead=[Paragraph(found.about, "soft"), Paragraph(f"mean over the design: {write(found.mean)}")],
        remarks=found.notes,
        sections=[Section("At a glance", [Figure(found.plot.chart)], terminal=False), Section("", items)],
    )


def _between(figure: str, size: float, half_width: float | None) -> str:
    if half_width is None:
        return text.MISSING
    return f"{signed(figure, size - half_width)} to {signed(figure, size + half_width)}"


def _share(share: float | None, half_width: float | None) -> str:
    if share is None:
        return text.MISSING
    return f"{100 * share:.1f} %" + (f" ± {100 * half_width:.1f}" if half_width is not None else "")
