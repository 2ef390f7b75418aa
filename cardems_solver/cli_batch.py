"""The verbs for many deals: ``batch`` and ``stats``. Like ``cli``, it imports nothing slow before it is needed."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

import click

from cardems_solver import cli
from cardems_solver.cli import BadInput
from cardems_solver.rules import Rules

RESULTS = click.argument("results", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))


def _cores() -> int:
    """The cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def percent(rate: float | None) -> str:
    return "-" if rate is None else f"{100 * rate:.3f} %"


class _Display:
    """Standard error while a batch runs: a progress bar on a terminal, nothing elsewhere. And standard output: a line a
    deal, unless there is a file for that."""

    def __init__(self, total: int, done: int, confidence: float, line: Any, quiet: bool) -> None:
        from tqdm import tqdm

        self.confidence = confidence
        self.line = line
        self.told = 0.0
        shown = sys.stderr.isatty() and not quiet
        # tqdm counts in floating point where it estimates: a total beyond it has no bar worth showing.
        self.bar = tqdm(
            total=total if total < 1 << 53 else None,
            initial=done,
            unit=" deals",
            smoothing=0.05,
            dynamic_ncols=True,
            disable=not shown,
            file=sys.stderr,
        )

    def __call__(self, report: Any) -> None:
        if self.line is not None and report.rows:
            text = "".join(self.line(row) for row in report.rows)
            if self.bar.disable:
                click.echo(text, nl=False)
            else:
                self.bar.write(text, file=sys.stdout, end="")
        if self.bar.disable:
            return
        self.bar.n = self.bar.initial + report.tally.done_now
        if report.seconds - self.told >= 0.5:
            self.told = report.seconds
            self.bar.set_postfix_str(self._facts(report), refresh=False)
        self.bar.refresh()

    def _facts(self, report: Any) -> str:
        counts = report.tally.counts
        parts = []
        bounds = report.tally.interval(self.confidence, report.engine.waiting)
        decided = counts["solvable"] + counts["unsolvable"]
        if bounds is not None and decided:
            rate = 100 * counts["solvable"] / decided
            parts.append(f"win rate {rate:.2f} % [{100 * bounds.low:.2f}, {100 * bounds.high:.2f}]")
        if counts["undecided"]:
            parts.append(f"{counts['undecided']:,} undecided")
        if report.engine.waiting:
            parts.append(f"{report.engine.waiting:,} hard ones to go")
        running = report.engine.running()
        if running:
            hardest = running[0]
            states = f", {hardest.expanded:,} positions" if hardest.expanded else ""
            parts.append(f"now {hardest.deal} ({hardest.seconds:.0f} s{states})")
        return ", ".join(parts)

    def close(self) -> None:
        self.bar.close()


def _text_line(metric: str, notation: str | None) -> Any:
    """How a deal's result is written for people."""

    def line(row: Any) -> str:
        parts = [f"{row.deal}  {row.verdict}"]
        if row.length is not None:
            parts.append(f"{row.length} {metric}{' (the fewest)' if row.optimal else ''}")
        if row.lower_bound is not None and not row.optimal:
            parts.append(f"at least {row.lower_bound}")
        if row.reason is not None:
            parts.append(f"ended by the {row.reason}" if row.reason != "interrupted" else "interrupted")
        parts.append(f"{row.expanded:,} positions")
        text = ", ".join(parts) + "\n"
        if row.moves:
            text += (", " if notation == "text" else " ").join(row.moves) + "\n"
        return text

    return line


def _ranges(texts: tuple[str, ...], rules: Rules) -> list[Any]:
    from cardems_solver.deals import parse_range

    ranges = []
    for text in texts:
        try:
            ranges += parse_range(text, rules)
        except ValueError as error:
            raise BadInput(str(error)) from None
    return ranges


def _notation(asked: str | None, moves: bool, rules: Rules) -> str | None:
    """The notation of the move lists, or None when there are to be none."""
    if not moves:
        if asked:
            raise BadInput("--notation needs --moves")
        return None
    from cardems_solver import notation

    name = asked or {"freecell": "standard", "klondike": "minimal-klondike"}.get(rules.game, "text")
    try:
        notation.check_notation(name, rules)
    except ValueError as error:
        raise BadInput(str(error)) from None
    return name


@click.command()
@cli.GAME
@click.argument("ranges", nargs=-1, required=True, metavar="RANGE...")
@cli.rule_options
@click.option("--optimal", is_flag=True, help="The fewest moves of each deal, proved.")
@click.option("--metric", default="moves", type=click.Choice(["moves", "cards", "taps"]), help="What a length counts.")
@cli.limit_options
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Workers [default: all cores].")
@click.option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Results to FILE.jsonl, .csv or .parquet.")
@click.option("--moves", is_flag=True, help="Write the move lists too (much slower for easy deals).")
@click.option("--notation", help="How moves are written: text, standard, minimal-klondike, ...")
@click.option("--resume", is_flag=True, help="Go on where FILE stops.")
@click.option("--retry-undecided", is_flag=True, help="As --resume, and try its undecided deals with these limits.")
@click.option(
    "--until-width", type=click.FloatRange(0, 1, min_open=True), metavar="W", help="Stop at an interval so narrow."
)
@click.option(
    "--confidence", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95, show_default=True
)
@click.option(
    "--engine", type=click.Choice(["local", "dask"]), default="local", help="Threads here, or a Dask cluster."
)
@click.option("--scheduler", metavar="ADDRESS", help="The Dask scheduler, such as tcp://10.0.0.1:8786.")
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON, on the last line.")
@click.option("--quiet", is_flag=True, help="Nothing on standard error but errors.")
@click.option("-v", "verbose", is_flag=True, help="More on standard error.")
def batch(game: str, ranges: tuple[str, ...], **values: Any) -> None:
    """How many deals can be won? Solves every deal of the RANGEs.

    A RANGE is 1..1000, ms:1..32000, a single deal, or a file with one of these a line (# starts a comment). The results
    go to --out, or to standard output, a line a deal; the win rate comes last. All cards count as known.
    """
    rules = cli.rules_from(game, values)
    cli.check_metric(rules, values["metric"])
    notation = _notation(values["notation"], values["moves"], rules)
    resume = values["resume"] or values["retry_undecided"]
    if resume and not values["out"]:
        raise BadInput("--resume and --retry-undecided need --out")
    if (values["engine"] == "dask") != (values["scheduler"] is not None):
        raise BadInput("--engine dask and --scheduler ADDRESS go together")
    deal_ranges = _ranges(ranges, rules)

    import numpy as np

    from cardems_solver import batch as engine_room
    from cardems_solver.chunks import Question
    from cardems_solver.limits import machine_memory
    from cardems_solver.results import JsonLines, ResultFile, ResultsError
    from cardems_solver.worklist import Feeder, WorkList

    question = Question(
        rules, values["optimal"], values["metric"], values["time_limit"], values["max_states"], notation
    )
    work = WorkList(deal_ranges)
    header = engine_room.header(question, work, values["memory"])
    out, done, tally = None, None, engine_room.Tally()
    try:
        if values["out"]:
            out = ResultFile(values["out"], header, work, resume, values["retry_undecided"])
            if out.known is not None:
                done = out.known.done(values["retry_undecided"], out.fresh)
                tally = engine_room.Tally.of(out.known)
        feeder = Feeder(work, done)
        waiting = engine_room.WAITING if values["until_width"] is None else engine_room.WAITING_FOR_WIDTH
        if not values["quiet"]:
            cli.announce_compiling()
        if values["engine"] == "dask":
            from cardems_solver.dask_engine import DaskEngine

            engine = DaskEngine(question, feeder, values["scheduler"], values["memory"], waiting)
        else:
            memory = values["memory"] or machine_memory() * 3 // 4
            engine = engine_room.LocalEngine(question, feeder, values["jobs"] or _cores(), memory, waiting)
    except ResultsError as error:
        raise BadInput(str(error)) from None

    line = None
    if out is None:
        line = JsonLines(header).line if values["as_json"] else _text_line(values["metric"], notation)
    display = _Display(work.count, work.count - feeder.left, values["confidence"], line, values["quiet"])
    stop = np.zeros(1, np.uint8)

    def interrupt(*_: Any) -> None:
        """The first time everything is brought to an orderly end, the second time at once."""
        stop[0] = 1
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, interrupt)
    summary = None
    try:
        summary = engine_room.run(
            question,
            engine,
            tally,
            out=out,
            confidence=values["confidence"],
            until_width=values["until_width"],
            stop=stop,
            report=display,
        )
        if out is not None:
            out.close()
    except ResultsError as error:
        raise BadInput(str(error)) from None
    finally:
        display.close()
        signal.signal(signal.SIGINT, before)
    if values["as_json"]:
        click.echo(json.dumps(summary.as_json()))
    else:
        click.echo(_summary_table(summary))
    if values["verbose"] and not values["quiet"]:
        used = os.times()
        click.echo(f"CPU: {used.user:.1f} s user, {used.system:.1f} s system", err=True)
    if summary.interrupted:
        if out is not None and not values["quiet"]:
            click.echo(f"interrupted: {values['out']} has the results so far, --resume goes on", err=True)
        sys.exit(cli.INTERRUPTED)


def _summary_table(summary: Any) -> str:
    """The summary for people: labels and values in two columns."""
    found = summary.as_json()
    rules = ", ".join(f"{name.replace('_', ' ')} {_plain(value)}" for name, value in found["rules"].items())
    lines = [("game", f"{found['game']} ({rules})"), ("deals", f"{found['deals']:,}")]
    lines += [(name, f"{found[name]:,}") for name in ("solvable", "unsolvable", "undecided")]
    if summary.waiting:
        lines.append(("unfinished", f"{summary.waiting:,} (interrupted; counted as undecided in the interval)"))
    bounds = summary.interval
    if bounds is not None:
        lines.append(("win rate", f"{percent(found['win_rate'])} (all cards known)"))
        lines.append((f"{100 * summary.confidence:g} % interval", f"{percent(bounds.low)} to {percent(bounds.high)}"))
    if found["mean_length"] is not None:
        lines.append(("mean length", f"{found['mean_length']:.2f} {found['metric']}"))
    lines.append(
        ("time", f"{found['seconds']:,.1f} s, {found['deals_per_second'] or 0:,.1f} deals/s, {found['jobs']} jobs")
    )
    width = max(len(label) for label, _ in lines)
    return "\n".join(f"{label:<{width}}  {text}" for label, text in lines)


def _plain(value: Any) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


@click.command()
@RESULTS
def stats(results: tuple[str, ...]) -> None:
    """Tables and plots from batch results."""
