"""The command line: thin verbs over the library. Nothing here imports Numba before a search is asked for."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import click

import cardems_solver
from cardems_solver.reference import METRICS
from cardems_solver.rules import PRESETS, Rules, preset

EXIT = {"solvable": 0, "unsolvable": 10, "undecided": 11}
USAGE, INTERRUPTED, NOT_WON = 2, 130, 1


class BadInput(click.ClickException):
    """Bad usage, a bad deal or an unreadable file: a message that names the place, and exit status 2."""

    exit_code = USAGE


class Memory(click.ParamType):
    """A size such as ``4G``, ``500M`` or plain bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", value.strip(), re.IGNORECASE)
        if not found or float(found[1]) == 0:
            self.fail(f"{value!r} is not a size (such as 4G or 500M)", param, ctx)
        return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))


class Passes(click.ParamType):
    """A number of passes through the stock, or ``unlimited``."""

    name = "N|unlimited"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if value == "unlimited" or isinstance(value, int):
            return value
        if not value.isascii() or not value.isdigit() or int(value) < 1:
            self.fail(f"{value!r} is neither a number of passes nor 'unlimited'", param, ctx)
        return int(value)


GAME = click.argument("game", type=click.Choice(list(PRESETS)), metavar="GAME")

RULE_OPTIONS = (
    click.option("--draw", type=int, metavar="N", help="Cards drawn at once from the stock."),
    click.option("--passes", type=Passes(), help="Passes through the stock, the first one counted."),
    click.option("--foundation-return/--no-foundation-return", default=None, help="May foundation cards come back?"),
    click.option("--cells", type=int, metavar="N", help="Free cells, 0 to 8 (FreeCell)."),
    click.option("--partial-runs/--no-partial-runs", default=None, help="May part of a column move? (Canfield)"),
    click.option("--spaces", type=click.Choice(["waste", "any"]), help="What fills an empty Canfield column at last."),
)

LIMIT_OPTIONS = (
    click.option("--time-limit", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help="Time for a deal."),
    click.option("--max-states", type=click.IntRange(1), metavar="N", help="Positions stored for a deal."),
    click.option("--memory", type=Memory(), help="Memory of the whole command, such as 4G [default: 3/4 of all]."),
)


def options(*decorators: Callable) -> Callable:
    """Several click options as one decorator, listed in the order given."""

    def decorate(command: Callable) -> Callable:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


rule_options = options(*RULE_OPTIONS)
limit_options = options(*LIMIT_OPTIONS)


def rules_from(game: str, values: dict[str, Any]) -> Rules:
    """The preset with the rule options that were given; they are taken out of ``values``.

    Raises:
        BadInput: the game has no such rule, or not with that value.
    """
    names = ("draw", "passes", "foundation_return", "cells", "partial_runs", "spaces")
    given = {name: values.pop(name) for name in names}
    try:
        return preset(game).with_options(**{name: value for name, value in given.items() if value is not None})
    except ValueError as error:
        raise BadInput(str(error)) from None


def check_metric(rules: Rules, metric: str) -> None:
    """Raises BadInput when the game has no such metric."""
    if metric not in METRICS[rules.game]:
        raise BadInput(f"{rules.preset} has no metric {metric!r} (it has {', '.join(METRICS[rules.game])})")


def load_deal(text: str, rules: Rules) -> tuple[Any, str | None]:
    """The position that a DEAL argument names, and its name if it has one; warnings go to standard error.

    Raises:
        BadInput: there is no such deal, or it is broken.
    """
    from cardems_solver.formats import load

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            position, name = load(text, rules)
            position.check(rules)
        except (ValueError, OSError) as error:
            raise BadInput(str(error)) from None
    for warning in caught:
        click.echo(f"cardems: warning: {warning.message}", err=True)
    return position, name


def import_numba_without_blas() -> None:
    """Import Numba without its search for a BLAS in SciPy, a fifth of a second at every start that no kernel needs.

    Numba is left without support for ``np.dot`` then: for the command line only, not for the library.
    """
    if "scipy" in sys.modules:
        return
    sys.modules["scipy"] = None  # makes its import fail, which Numba takes for "not installed"
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules["scipy"]


def announce_compiling() -> None:
    """Say on standard error, once, that code is being compiled; silent when it comes from the cache."""
    from cardems_solver.kernels.jit import on_first_compile

    on_first_compile(lambda: click.echo("cardems: first use, compiling (kept for later runs) ...", err=True))


def read_moves(source: Any) -> str:
    """The text of a move list from an open binary file, whatever bytes it has."""
    return source.read().decode("utf-8-sig", errors="replace")


def _default_notation(notation: str | None, as_json: bool, rules: Rules) -> str:
    if notation:
        return notation
    if as_json:
        return {"freecell": "standard", "klondike": "minimal-klondike"}.get(rules.game, "text")
    return "text"


class _Verbs(click.Group):
    """The verbs for many deals live in a module of their own, which is loaded when they are asked for."""

    elsewhere = ("batch", "stats")

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *self.elsewhere])

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.elsewhere:
            return super().get_command(ctx, name)
        from cardems_solver import cli_batch

        return getattr(cli_batch, name)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(cardems_solver.__version__, prog_name="cardems")
def main() -> None:
    """Solve FreeCell, Klondike and Canfield deals: can they be won, in how few moves, how, and how often?"""


class _Reporter:
    """Writes what a long search knows so far to standard error: a line kept up to date on a terminal, and for
    ``--optimal`` a line for every better solution."""

    def __init__(self, quiet: bool, verbose: bool, announce: Callable[[str], None] | None) -> None:
        self.live = sys.stderr.isatty() and not quiet
        self.verbose = verbose and not quiet
        self.announce = announce
        self.started = self.last = time.perf_counter()
        self.length: int | None = None
        self.width = 0

    def __call__(self, **known: Any) -> None:
        length = known.get("length")
        if length is not None and length != self.length and self.announce:
            self.clear()
            self.announce(f"solvable: {length}" if self.length is None else f"better: {length}")
            self.length = length
        now = time.perf_counter()
        if now - self.last < 0.5 or not (self.live or self.verbose):
            return
        self.last = now
        parts = [f"{now - self.started:.0f} s"]
        if known.get("expanded"):
            parts.append(f"{known['expanded']:,} positions")
        if known.get("stored"):
            parts.append(f"{known['stored']:,} stored")
        if known.get("lower_bound") is not None:
            parts.append(f"at least {known['lower_bound']}")
        if self.length is not None:
            parts.append(f"at most {self.length}")
        line = ", ".join(parts)
        if self.live:
            click.echo("\r" + line.ljust(self.width), err=True, nl=False)
            self.width = len(line)
        else:
            click.echo(line, err=True)

    def clear(self) -> None:
        if self.live and self.width:
            click.echo("\r" + " " * self.width + "\r", err=True, nl=False)
            self.width = 0


@main.command()
@GAME
@click.argument("deal")
@rule_options
@click.option("--optimal", is_flag=True, help="The fewest moves, proved.")
@click.option("--metric", default="moves", type=click.Choice(["moves", "cards", "taps"]), help="What a length counts.")
@limit_options
@click.option("--notation", help="How moves are written: text, standard, minimal-klondike, ...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on one line.")
@click.option("--quiet", is_flag=True, help="Nothing on standard error but errors.")
@click.option("-v", "verbose", is_flag=True, help="More on standard error.")
def solve(game: str, deal: str, **values: Any) -> None:
    """Can DEAL be won, and how?

    DEAL is a number (11982), a scheme and a number (solvitaire:22), a file, - for standard input, or the cards
    themselves in quotes. Exit status: 0 solvable, 10 proved unsolvable, 11 undecided.
    """
    rules = rules_from(game, values)
    check_metric(rules, values["metric"])
    notation = _default_notation(values["notation"], values["as_json"], rules)
    from cardems_solver import notation as notations

    try:
        notations.check_notation(notation, rules)
    except ValueError as error:
        raise BadInput(str(error)) from None
    position, name = load_deal(deal, rules)

    import_numba_without_blas()
    import numpy as np

    from cardems_solver import solver

    quiet = values["quiet"]
    if not quiet:
        announce_compiling()
    stop = np.zeros(1, np.uint8)
    before = signal.signal(signal.SIGINT, lambda *_: stop.__setitem__(0, 1))
    announce = None
    if values["optimal"]:

        def announce(text: str) -> None:
            if not values["as_json"]:
                click.echo(f"{text} {values['metric']}")
            elif not quiet:
                click.echo(f"{text} {values['metric']}", err=True)

    reporter = _Reporter(quiet, values["verbose"], announce)
    try:
        result = solver.solve(
            position,
            rules,
            optimal=values["optimal"],
            metric=values["metric"],
            time_limit=values["time_limit"],
            max_states=values["max_states"],
            memory=values["memory"],
            stop=stop,
            progress=reporter,
        )
    finally:
        signal.signal(signal.SIGINT, before)
        reporter.clear()

    tokens = None
    if result.moves is not None:
        try:
            tokens = notations.format_moves(position, rules, list(result.moves), notation)
        except ValueError as error:
            raise BadInput(str(error)) from None
    if values["as_json"]:
        click.echo(json.dumps(_as_json(result, name, tokens)))
    else:
        _print_result(result, name or deal, tokens, notation)
        if values["verbose"]:
            click.echo(f"memory of the search: {result.memory / 2**20:.1f} MB", err=True)
    interrupted = result.reason == "interrupted"
    sys.exit(INTERRUPTED if interrupted else EXIT[result.verdict])


def _as_json(result: Any, name: str | None, tokens: list[str] | None) -> dict[str, Any]:
    """The object that cli.md promises for one deal."""
    from cardems_solver.formats import one_line

    found = {
        "game": result.rules.preset,
        "rules": result.rules.options(),
        "deal": name,
        "cards": one_line(result.position, result.rules),
        "verdict": result.verdict,
        "reason": result.reason,
        "metric": result.metric,
        "length": result.length,
        "optimal": result.optimal,
        "lower_bound": result.lower_bound,
        "moves": tokens,
        "score": result.score,
        "expanded": result.expanded,
        "generated": result.generated,
        "seconds": round(result.seconds, 6),
    }
    if result.rules.game == "canfield":
        found["most_home"] = result.most_home
    return found


def _print_result(result: Any, name: str, tokens: list[str] | None, notation: str) -> None:
    """The answer for people."""
    colours = {"solvable": "green", "unsolvable": "red", "undecided": "yellow"}
    head = click.style(result.verdict, fg=colours[result.verdict], bold=True) if _colour() else result.verdict
    facts = [f"{result.rules.preset} {name}: {head}"]
    if result.length is not None:
        proved = " (the fewest)" if result.optimal else ""
        facts.append(f"{result.length} {result.metric}{proved}")
        if result.lower_bound is not None and not result.optimal:
            facts.append(f"at least {result.lower_bound}")
    elif result.verdict == "undecided" and result.lower_bound is not None:
        facts.append(f"at least {result.lower_bound} {result.metric}")
    if result.score is not None:
        facts.append(f"score {result.score}")
    if result.verdict == "unsolvable":
        facts.append("proved")
        if result.most_home is not None:
            facts.append(f"at most {result.most_home} cards home, which pays {5 * result.most_home}")
        elif result.reason is not None:
            facts.append("how many cards can be brought home is not known")
    if result.reason is not None:
        facts.append(f"ended by the {result.reason}" if result.reason != "interrupted" else "interrupted")
    facts.append(f"{result.expanded:,} positions in {_duration(result.seconds)}")
    click.echo(", ".join(facts))
    if tokens is None:
        return
    if notation == "text":
        width = len(str(len(tokens)))
        for number, token in enumerate(tokens, 1):
            click.echo(f"{number:{width}}. {token}")
    else:
        click.echo("\n".join(" ".join(tokens[i : i + 20]) for i in range(0, len(tokens), 20)))


def _colour() -> bool:
    import os

    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


@main.command()
@GAME
@click.argument("deal")
@click.argument("moves", type=click.File("rb"), default="-")
@rule_options
@click.option("--metric", default="moves", type=click.Choice(["moves", "cards", "taps"]), help="What a length counts.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on one line.")
def verify(game: str, deal: str, moves: Any, **values: Any) -> None:
    """Replay a move list by the rules: are the moves legal, and do they win?

    MOVES is a file with a list in any notation that `solve` writes, or in Klondike-Solver's or macroxue's; banners and
    prose around it are ignored. Exit status: 0 legal and won, 1 otherwise.
    """
    rules = rules_from(game, values)
    check_metric(rules, values["metric"])
    position, name = load_deal(deal, rules)
    from cardems_solver import notation, reference

    text = read_moves(moves)
    won, complaint, length, score, count = False, None, None, None, 0
    try:
        played = notation.parse_moves(text, position, rules)
        count = len(played)
        final = position
        for move in played:
            final = reference.apply(final, rules, move)
        won = final.won
        score = reference.score(position, rules, played)
        if values["metric"] == "cards":
            from cardems_solver.expand import single_cards

            played = single_cards(position, rules, played)
        length = reference.length(position, rules, played, values["metric"])
        if not won:
            home = sum(final.foundations)
            complaint = f"the {count} moves are legal but do not win: {home} of 52 cards are home"
    except ValueError as error:
        complaint = str(error)
    if values["as_json"]:
        found = {"game": rules.preset, "rules": rules.options(), "deal": name, "legal": length is not None, "won": won}
        found |= {"metric": values["metric"], "length": length, "score": score, "error": complaint}
        click.echo(json.dumps(found))
    elif complaint:
        click.echo(complaint)
    else:
        scored = f", score {score}" if score is not None else ""
        click.echo(f"legal, and wins in {length} {values['metric']}{scored}")
    sys.exit(0 if won else NOT_WON)


@main.command()
@GAME
@click.argument("deal")
@rule_options
@click.option("--format", "layout", help="fc-solve, pysol, solvitaire, digits or line [default: for people].")
@click.option("--moves", type=click.File("rb"), help="Play these moves first ...")
@click.option("--after", type=click.IntRange(0), metavar="N", help="... but only N of them.")
def show(game: str, deal: str, layout: str | None, moves: Any, after: int | None, **values: Any) -> None:
    """Print a deal, or the position after some moves, or convert it to another format."""
    rules = rules_from(game, values)
    position, _ = load_deal(deal, rules)
    from cardems_solver import formats, notation, reference

    if after is not None and moves is None:
        raise BadInput("--after needs --moves")
    try:
        if moves is not None:
            played = notation.parse_moves(read_moves(moves), position, rules)
            if after is not None and after > len(played):
                raise BadInput(f"there are only {len(played)} moves")
            for move in played[:after]:
                position = reference.apply(position, rules, move)
        text = formats.write_position(position, rules, layout or "text")
    except ValueError as error:
        raise BadInput(str(error)) from None
    click.echo(text.rstrip("\n"))


@main.command()
@click.argument("game", type=click.Choice(list(PRESETS)), metavar="[GAME]", required=False)
@click.option("--json", "as_json", is_flag=True, help="JSON, one object a line.")
def rules(game: str | None, as_json: bool) -> None:
    """The presets and every rule they set."""
    chosen = [PRESETS[game]] if game else list(PRESETS.values())
    if as_json:
        for item in chosen:
            row = {"game": item.preset, "family": item.game, "source": item.source, "rules": item.options()}
            click.echo(json.dumps(row | {"columns": item.columns, "scored": item.scored}))
        return
    for number, item in enumerate(chosen):
        if number:
            click.echo()
        click.echo(f"{item.preset} ({item.source})")
        for label, text in describe(item):
            click.echo(f"  {label:<20}{text}")


def describe(item: Rules) -> list[tuple[str, str]]:
    """Every rule of a game in words, as pairs of a label and a text."""
    klondike, canfield = item.game == "klondike", item.game == "canfield"
    dealt = {"freecell": "7, 7, 7, 7, 6, 6, 6, 6 cards", "klondike": "1 to 7 cards, the last face up"}
    lines = [("columns", f"{item.columns}: {dealt.get(item.game, 'one card each')}")]
    if item.game == "freecell":
        lines.append(("cells", f"{item.cells} (--cells)"))
    else:
        passes = "unlimited" if item.passes is None else str(item.passes)
        if canfield:
            lines.append(("reserve", "13 cards, the top one face up"))
        lines.append(("stock", f"{24 if klondike else 34} cards"))
        lines += [("draw", f"{item.draw} (--draw)"), ("passes", f"{passes} (--passes)")]
    lines.append(("foundations", "from the rank of the first card dealt, king to ace" if canfield else "from the ace"))
    wrap = ", ranks counted from the base card" if canfield else ""
    lines.append(("building", f"down, alternating colours{wrap}"))
    if canfield:
        lines.append(("moves of columns", "any run (--partial-runs)" if item.partial_runs else "whole columns only"))
        last = "any card (--spaces any)" if item.spaces == "any" else "the waste, at will"
        lines.append(("an empty column", f"the reserve at once; when it is gone: {last}"))
    else:
        limited = ", limited by free space" if item.game == "freecell" else ""
        lines.append(("moves of runs", f"a legal run or its tail{limited}"))
        lines.append(("an empty column", "a king, alone or with its run" if klondike else "any card or run"))
    if canfield:
        lines.append(("foundation return", "no"))
    else:
        where = "to a column" if klondike else "to a cell or a column"
        lines.append(("foundation return", f"{where if item.foundation_return else 'no'} (--foundation-return)"))
    lines.append(("score", "Cardems" if item.scored else "stakes: 50 to play, 5 a card" if canfield else "none"))
    return lines


if __name__ == "__main__":
    main()
