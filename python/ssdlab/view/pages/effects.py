"""The page of effects on an outcome."""

from ssdlab import text
from ssdlab.study.survey.effects import Effects, Share
from ssdlab.view.page import Figure, Item, Page, Paragraph, Section, Table
from ssdlab.view.pages.figures import form, signed

MARK = " *"
BEYOND = (
    "* lies below 0 % or above 100 %, where no share can be: it is estimated from the samples of the design, with the "
    "error behind ± (95 % confidence interval). Sweep with more --samples for a closer one."
)


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
        if any(_is_beyond(one) for one in found.shares):
            items.append(Paragraph(BEYOND, "soft"))
    if found.losses:
        items.append(
            Table(
                ("axis", "value", "best that is left", "lost"),
                [
                    [one.term, one.level, write(one.best), text.MISSING if one.lost is None else text.percent(one.lost)]
                    for one in found.losses
                ],
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
    if half_width is None:
        return f"{100 * share:.1f} %"
    return f"{100 * share:.1f} % ± {100 * half_width:.1f}{MARK if _estimated_beyond(share) else ''}"


def _estimated_beyond(share: float | None) -> bool:
    """Whether an estimate, as it is shown, is none that a share can have."""
    return share is not None and not 0 <= round(share, 3) <= 1


def _is_beyond(one: Share) -> bool:
    """Whether a share of the variance, or that with interactions, is estimated to be none."""
    return one.half_width is not None and (_estimated_beyond(one.share) or _estimated_beyond(one.total))
