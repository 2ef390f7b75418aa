"""Pictures of result files: the win rate as deals accumulate, how hard the deals are, how long the solutions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cardems_solver.stats import Table, running_rate

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito's palette, which colour-blind readers can tell apart."""

VERDICT_STYLES = (("solvable", 1, "#0072b2"), ("unsolvable", 2, "#d55e00"), ("undecided", 0, "#999999"))


class NoMatplotlib(Exception):
    """The extra is not installed."""


def _label(table: Table, with_name: bool) -> str:
    rules = ", ".join(f"{name.replace('_', ' ')} {_plain(value)}" for name, value in table.header["rules"].items())
    game = f"{table.header['game']} ({rules})"
    return f"{Path(table.name).stem}: {game}" if with_name else game


def _plain(value: Any) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def plot(tables: list[Table], path: str, confidence: float) -> None:
    """Draw a picture of one or several files and write it to ``path`` (.png or .svg).

    Raises:
        NoMatplotlib: matplotlib is not installed.
        ValueError: there is nothing to draw.
    """
    try:
        import matplotlib
    except ImportError:
        raise NoMatplotlib("plots need matplotlib: pip install 'cardems-solver[plots]'") from None
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    tables = [table for table in tables if len(table)]
    if not tables:
        raise ValueError("there are no results to draw")
    lengths = any((table.length >= 0).any() for table in tables)
    style = {
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.25,
        "axes.axisbelow": True,
        "svg.fonttype": "none",
        "svg.hashsalt": "cardems",
    }
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(7.5, 3.3 * (2 + lengths)), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(2 + lengths, 1)
        figure.suptitle(_label(tables[0], False) if len(tables) == 1 else "Batch results", fontsize=12)
        _draw_rate(axes[0], tables, confidence)
        _draw_effort(axes[1], tables)
        if lengths:
            _draw_lengths(axes[2], tables)
        figure.savefig(path, dpi=150)


def _draw_rate(axes: Any, tables: list[Table], confidence: float) -> None:
    lows, highs = [], []
    for table, colour in zip(tables, COLOURS * len(tables), strict=False):
        run = running_rate(table, confidence)
        rate, low, high = (100 * run[name][-1] for name in ("rate", "low", "high"))
        label = f"{len(table):,} deals: {rate:.3f} % [{low:.3f}, {high:.3f}]"
        if len(tables) > 1:
            label = f"{_label(table, True)}\n{label}"
        axes.plot(run["deals"], 100 * run["rate"], color=colour, label=label)
        axes.fill_between(run["deals"], 100 * run["low"], 100 * run["high"], color=colour, alpha=0.2, linewidth=0)
        # The first few deals say nothing and would flatten all that follows.
        shown = run["deals"] >= min(len(table) // 20, 1000)
        lows.append(100 * run["low"][shown].min())
        highs.append(100 * run["high"][shown].max())
    margin = 0.05 * (max(highs) - min(lows)) + 0.01
    axes.set_ylim(max(0, min(lows) - margin), min(100 + margin, max(highs) + margin))
    axes.set_xlim(0, max(len(table) for table in tables))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("deals, in the order of their numbers")
    axes.set_ylabel("win rate, %")
    axes.set_title(f"Win rate with its {100 * confidence:g} % band (all cards known)", loc="left", fontsize=10)
    axes.legend(frameon=False, fontsize=8.5)


def _draw_effort(axes: Any, tables: list[Table]) -> None:
    """How many deals needed how many positions, both on log scales: the tail is the story."""
    most = max(int(table.expanded.max()) for table in tables)
    # Whole numbers: below ten or so each has a bin of its own, of whatever width.
    bins = np.unique(np.geomspace(1, max(most, 9) + 1, 60).round()) - 0.5
    if len(tables) == 1:
        (table,) = tables
        for name, code, colour in VERDICT_STYLES:
            values = table.expanded[table.verdicts == code]
            if len(values):
                label = f"{name} ({len(values):,}), mean {_short(values.mean())}"
                axes.hist(values.clip(1), bins, histtype="stepfilled", color=colour, alpha=0.15)
                axes.hist(values.clip(1), bins, histtype="step", linewidth=1.5, color=colour, label=label)
        marks = (("median", 0.5), ("99 %", 0.99), ("max", 1.0))
        for name, q in marks:
            value = max(1.0, float(np.quantile(table.expanded, q)))
            axes.axvline(value, color="#444444", linewidth=0.8, linestyle=":")
            axes.annotate(
                f"{name}\n{_short(value)}",
                (value, 1),
                xycoords=("data", "axes fraction"),
                xytext=(-3, -2),
                textcoords="offset points",
                ha="right",
                va="top",
                fontsize=7.5,
                color="#444444",
            )
    else:
        for table, colour in zip(tables, COLOURS * len(tables), strict=False):
            label = f"{Path(table.name).stem}: mean {_short(table.expanded.mean())}"
            axes.hist(table.expanded.clip(1), bins, histtype="step", linewidth=1.5, color=colour, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(0.7, 5 * axes.get_ylim()[1])  # room for what is written inside
    axes.xaxis.set_major_formatter(lambda value, _: _short(value))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("positions expanded for a deal (log scale)")
    axes.set_ylabel("deals (log scale)")
    if len(tables) == 1:  # the legend between title and axes: the marks need the room inside
        axes.set_title("Search effort", loc="left", fontsize=10, pad=20)
        narrow = {"ncols": 3, "borderpad": 0.3, "columnspacing": 1.2, "handlelength": 1.2}
        axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(-0.01, 0.97), **narrow)
    else:
        axes.set_title("Search effort", loc="left", fontsize=10)
        axes.legend(frameon=False, fontsize=8.5)


def _draw_lengths(axes: Any, tables: list[Table]) -> None:
    found = [table.length[table.length >= 0] for table in tables]
    low, high = min(v.min() for v in found if len(v)), max(v.max() for v in found if len(v))
    step = max(1, int(np.ceil((high - low + 1) / 60)))
    bins = np.arange(low, high + step + 1, step) - 0.5
    for table, values, colour in zip(tables, found, COLOURS * len(tables), strict=False):
        if not len(values):
            continue
        label = f"mean {values.mean():.1f}, median {np.median(values):g}, longest {values.max()}"
        if len(tables) > 1:
            label = f"{Path(table.name).stem}: {label}"
            axes.hist(values, bins, histtype="step", linewidth=1.5, color=colour, label=label)
        else:
            axes.hist(values, bins, color=colour, alpha=0.8, label=label)
    metrics = sorted({table.header["metric"] for table in tables})
    kinds = {bool(table.header.get("optimal")) for table in tables}
    proved = "shortest solutions" if kinds == {True} else "solutions found (any, not the shortest)"
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel(f"length, {' or '.join(metrics)}")
    axes.set_ylabel("deals")
    axes.set_title(f"Lengths of the {proved if len(kinds) == 1 else 'solutions'}", loc="left", fontsize=10)
    axes.legend(frameon=False, fontsize=8.5)


def _short(value: float) -> str:
    """A number with a unit: 1.2 k, 34 M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"
