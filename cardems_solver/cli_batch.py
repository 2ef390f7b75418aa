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
        self.last: Any = None
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
        self.last = report
        if report.seconds - self.told >= 0.25:
            self._draw()

    def _draw(self) -> None:
        self.told = self.last.seconds
        self.bar.n = self.bar.initial + self.last.tally.done_now
        self.bar.set_postfix_str(self._facts(self.last), refresh=False)
        self.bar.refresh()

    def _facts(self, report: Any) -> str:
        counts = report.tally.counts
        parts = []
        bounds = report.tally.interval(self.confidence, report.engine.waiting)
        decided = counts["solvable"] + counts["unsolvable"]
        if bounds is not None and decided:
            rate = 100 * counts["solvable"] / decided
            parts.append(f"win rate {rate:.3f} % [{100 * bounds.low:.3f}, {100 * bounds.high:.3f}]")
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
        if self.last is not None:
            self._draw()
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


class _Interruptible(click.Command):
    """Exit status 130 after an interrupt that nothing else dealt with: before the batch begins, or a second one."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(cli.INTERRUPTED)


@click.command(cls=_Interruptible)
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
    from cardems_solver.dask_engine import ClusterError, DaskEngine
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
            engine = DaskEngine(question, feeder, values["scheduler"], values["memory"], waiting)
        else:
            memory = values["memory"] or machine_memory() * 3 // 4
            engine = engine_room.LocalEngine(question, feeder, values["jobs"] or _cores(), memory, waiting)
    except (ResultsError, ClusterError) as error:
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
    except (ResultsError, ClusterError) as error:
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
    """The summary for people."""
    found = summary.as_json()
    lines = _first_facts(found)
    if summary.waiting:
        lines.append(("unfinished", f"{summary.waiting:,} (interrupted; counted as undecided in the interval)"))
    if found["mean_length"] is not None:
        proved = f" ({found['optimal']:,} proved the fewest)" if summary.question.optimal else ""
        lines.append(("mean length", f"{found['mean_length']:.2f} {found['metric']}{proved}"))
    rate = f"{found['deals_per_second'] or 0:,.1f} deals/s"
    lines.append(("time", f"{found['seconds']:,.1f} s, {rate}, {found['jobs']} jobs"))
    return columns(lines)


def _first_facts(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Game, counts and win rate of a summary."""
    rules = ", ".join(f"{name.replace('_', ' ')} {_plain(value)}" for name, value in found["rules"].items())
    lines = [("game", f"{found['game']} ({rules})"), ("deals", f"{found['deals']:,}")]
    lines += [(name, f"{found[name]:,}") for name in ("solvable", "unsolvable", "undecided")]
    if found["interval"]:
        low, high = found["interval"]
        lines.append(("win rate", f"{percent(found['win_rate'])} (all cards known)"))
        lines.append((f"{100 * found['confidence']:g} % interval", f"{percent(low)} to {percent(high)}"))
    return lines


def columns(lines: list[tuple[str, str]]) -> str:
    """Labels and texts in two columns."""
    width = max(len(label) for label, _ in lines)
    return "\n".join(f"{label:<{width}}  {text}" for label, text in lines)


def _plain(value: Any) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


class _Stats(click.Command):
    """``--list hardest N`` has two words: they are joined before click counts the arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        args = list(args)
        for i, word in enumerate(args[:-1]):
            if (word == "hardest" and args[i - 1] == "--list") or word == "--list=hardest":
                if args[i + 1].isascii() and args[i + 1].isdigit():
                    args[i : i + 2] = [f"{word} {args[i + 1]}"]
                break
        return super().parse_args(ctx, args)


class _Listed(click.ParamType):
    """``solvable``, ``unsolvable``, ``undecided``, or ``hardest N``."""

    name = "solvable|unsolvable|undecided|hardest N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        if isinstance(value, tuple):
            return value
        what, _, number = value.partition(" ")
        if what not in ("solvable", "unsolvable", "undecided", "hardest") or (number and what != "hardest"):
            self.fail(f"{value!r} is not {self.name}", param, ctx)
        return what, int(number or 10)


@click.command(cls=_Stats)
@click.argument("results", nargs=-1, required=True, type=click.Path(dir_okay=False))
@click.option("--list", "listed", type=_Listed(), help="Print deal names, which the other commands accept.")
@click.option("--compare", is_flag=True, help="Compare two files on the deals that both have.")
@click.option("--plot", type=click.Path(dir_okay=False), metavar="FILE", help="Draw a picture: FILE.png or FILE.svg.")
@click.option(
    "--confidence", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95, show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="JSON: an object a file, or one for a comparison or a list.")
def stats(results: tuple[str, ...], listed: tuple[str, int] | None, compare: bool, plot: str | None, **values: Any):
    """Tables and plots from batch results.

    RESULTS are files that `batch --out` wrote. Several of one kind are also counted together, each deal once.
    """
    from cardems_solver import stats as statistics
    from cardems_solver.results import ResultsError

    confidence, as_json = values["confidence"], values["as_json"]
    if compare and (len(results) != 2 or listed):
        raise BadInput("--compare takes two files, and no --list")
    if plot and not plot.endswith((".png", ".svg")):
        raise BadInput(f"{plot}: the name must end in .png or .svg")
    try:
        tables = [statistics.load(path) for path in results]
        for table in tables:
            _warn_incomplete(table)
        if listed:
            names = statistics.select(statistics.together(tables), *listed)
            click.echo(json.dumps(names) if as_json else "\n".join(names), nl=bool(as_json or names))
        elif compare:
            found = statistics.compare(*tables)
            click.echo(json.dumps(found) if as_json else _comparison(found))
            if found["same_rules"] and found["differ"]:
                click.echo("cardems: warning: the files contradict each other: the rules are the same", err=True)
        elif as_json:
            for table in tables:
                click.echo(json.dumps({"file": table.name, **statistics.summary(table, confidence)}))
        elif len(tables) == 1:
            click.echo(columns(_facts(statistics.summary(tables[0], confidence))))
        else:
            click.echo(_overview(tables, confidence))
        if plot:
            from cardems_solver import plots

            try:
                plots.plot(tables, plot, confidence)
            except (plots.NoMatplotlib, ValueError, OSError) as error:
                raise BadInput(str(error)) from None
            click.echo(f"{plot} written", err=True)
    except ResultsError as error:
        raise BadInput(str(error)) from None


def _warn_incomplete(table: Any) -> None:
    asked = table.header.get("asked")
    if asked is not None and len(table) < asked:
        click.echo(
            f"cardems: warning: {table.name} has {len(table):,} of {asked:,} deals; those that are missing may be the"
            " hard ones, so its win rate is not to be trusted",
            err=True,
        )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _facts(found: dict[str, Any]) -> list[tuple[str, str]]:
    """What ``stats.summary`` found, as labels and texts."""
    lines = _first_facts(found)
    if found["length"]:
        spread = found["length"]
        proved = f", {found['optimal']:,} proved the fewest" if found["optimal"] else ""
        text = f"mean {spread['mean']:.2f}, median {spread['median']:g}, 99 % {spread['p99']:g}, max {spread['max']:g}"
        lines.append(("length", f"{text} {found['metric']}{proved}"))
    for label, key in (("positions a deal", "expanded"), ("seconds a deal", "seconds_a_deal")):
        if spread := found[key]:
            lines.append((label, ", ".join(f"{name} {_number(value)}" for name, value in spread.items())))
    lines.append(("seconds in all", f"{found['seconds']:,.1f} (of all workers together)"))
    if pay := found["pay"]:
        mean = "" if pay["mean"] is None else f"{pay['mean']:.2f}, "
        unknown = f" ({pay['not_known']:,} deals not known)" if pay["not_known"] else ""
        lines.append(("pay for 50 staked", f"{mean}{pay['interval'][0]:.2f} to {pay['interval'][1]:.2f}{unknown}"))
    return lines


def _overview(tables: list[Any], confidence: float) -> str:
    """Several files, a line each, and all together where they are of one kind."""
    from cardems_solver import stats as statistics
    from cardems_solver.results import ResultsError

    rows = [
        ("file", "game", "deals", "solvable", "unsolvable", "undecided", "win rate", f"{100 * confidence:g} % interval")
    ]
    listed = list(tables)
    try:
        listed.append(statistics.together(tables))
    except ResultsError as error:
        click.echo(f"cardems: not counted together: {error}", err=True)
    for table in listed:
        found = statistics.summary(table, confidence)
        bounds = found["interval"] or (None, None)
        counts = [f"{found[name]:,}" for name in ("deals", "solvable", "unsolvable", "undecided")]
        spread = f"{percent(bounds[0])} to {percent(bounds[1])}"
        rows.append((table.name, found["game"], *counts, percent(found["win_rate"]), spread))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    aligned = ("<", "<", ">", ">", ">", ">", ">", ">")
    return "\n".join(
        "  ".join(f"{cell:{align}{width}}" for cell, align, width in zip(row, aligned, widths, strict=True)).rstrip()
        for row in rows
    )


def _comparison(found: dict[str, Any]) -> str:
    first, second = found["files"]
    lines = [f"{item['deal']}  {item['verdicts'][0]}  {item['verdicts'][1]}" for item in found["differ"]]
    facts = [
        ("first", first),
        ("second", second),
        ("common deals", f"{found['common']:,}"),
        ("solvable in both", f"{found['both_solvable']:,}"),
        ("only in the first", f"{found['only_first']:,}"),
        ("only in the second", f"{found['only_second']:,}"),
        ("unsolvable in both", f"{found['neither']:,}"),
        ("undecided in either", f"{found['undecided']:,} (left out)"),
        ("McNemar's exact test", "no deal differs" if found["p_value"] is None else f"p = {found['p_value']:.3g}"),
    ]
    if found["mean_lengths"]:
        facts.append(("mean lengths", "{:.2f} and {:.2f}, where both have one".format(*found["mean_lengths"])))
    return "\n".join([*lines, columns(facts)])
