"""The colours of all figures: Okabe and Ito's, safe for colour-blind readers."""

from ssdlab.view.chart import Dash

BLUE, ORANGE, GREEN, PURPLE, SKY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9"
AMBER, YELLOW, GREY = "#e69f00", "#f0e442", "#7f858c"
INK, GRID = "#24292f", "#d0d7de"

OF_OPERATION = {"read": BLUE, "write": ORANGE, "trim": GREEN, "flush": PURPLE}

VARIABLES = {
    INK: "--ink",
    GRID: "--grid",
    BLUE: "--blue",
    ORANGE: "--orange",
    GREEN: "--green",
    PURPLE: "--purple",
    SKY: "--sky",
    AMBER: "--amber",
    YELLOW: "--yellow",
    GREY: "--grey",
}
"""CSS variables of the colours. Pages set the variables for each colour scheme."""

_TURNS = (BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER, GREY)
_DASHES: tuple[Dash, ...] = ("solid", "dashed", "dotted")


def colour(index: int) -> str:
    """Returns the colour of the series with the given index."""
    return _TURNS[index % len(_TURNS)]


def dash(index: int) -> Dash:
    """Returns the dash pattern of the line with the given index; patterns change after all colours have been used."""
    return _DASHES[index // len(_TURNS) % len(_DASHES)]


def blended(share: float) -> str:
    """Returns a colour between blue (`share` 0) and orange (`share` 1)."""
    ends = ([int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (BLUE, ORANGE))
    return "#" + "".join(f"{round(low + (high - low) * share):02x}" for low, high in zip(*ends, strict=True))
