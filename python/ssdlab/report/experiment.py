"""The report of an experiment: every cell, heat maps, lines and the verdict of each table."""

import math
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ssdlab import text
from ssdlab.experiments import drawing, words
from ssdlab.report.page import inline, page

if TYPE_CHECKING:
    from ssdlab.experiments.result import ExperimentResult, TableResult, Which


def render(result: "ExperimentResult") -> str:
    """The report of an experiment. Equal results give equal pages."""
    return page(
        "experiment.html.jinja",
        result=result,
        tables=[_table(f"t{number}", table) for number, table in enumerate(result.tables)],
    )


def _table(prefix: str, result: "TableResult") -> dict[str, Any]:
    maps: tuple[tuple[str, Which], ...] = (
        ("Document", "document"),
        ("Ours", "ours"),
        (f"Difference, {result.table.difference_unit}", "difference"),
    )
    drawn = any(not math.isnan(value) for value in result.ours.flat)
    return {
        "heading": words.heading(result),
        "result": result,
        "cells": _cells(result),
        "difference": words.difference_word(result),
        "sentences": words.sentences(result),
        "maps": [
            (title, inline(result.plot(which), f"{prefix}-{which}"))
            for title, which in maps
            if any(not math.isnan(value) for value in getattr(result, which).flat)
        ],
        "lines": inline(result.plot_lines(), f"{prefix}-lines") if drawn and drawing.ordered(result) else Markup(),
    }


def _cells(result: "TableResult") -> list[tuple[str, list[dict[str, Any]]]]:
    """Rows of cells as texts."""
    write = words.number_format(result.document, result.ours)
    best_there, best_here = result.stars("document"), result.stars("ours")
    anchors, misses, difference = result.anchors, result.misses, result.difference
    return [
        (
            label,
            [
                {
                    "document": write(float(result.document[at])),
                    "ours": write(float(result.ours[at])),
                    "difference": "anchor" if anchors[at] else words.signed(float(difference[at])),
                    "spread": text.MISSING if result.seeds == 1 else write(float(result.spread[at])),
                    "best_there": at in best_there,
                    "best_here": at in best_here,
                    "miss": bool(misses[at]),
                }
                for at in ((row, column) for column in range(len(result.columns)))
            ],
        )
        for row, label in enumerate(result.rows)
    ]
