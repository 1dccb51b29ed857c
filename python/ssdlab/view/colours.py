"""The colours of all figures: Okabe and Ito's, safe for colour-blind readers."""

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
"""The variables of a page's style sheet, which sets them by colour scheme; figures elsewhere keep these colours."""
