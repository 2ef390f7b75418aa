"""The chains of actions from a node of Klondike's search: branch only where something happens that is for good.

A *node* is a class of states that turn into one another by sending cards home and taking them back (without foundation
return: a single state); each is stored once. From a node the *chains* are followed: sequences of actions in which each
needs the one before it, that is, would be impossible without. Every other action can wait. A chain ends in an event,
which makes a new node: a layer comes up, or, where the order of the stock matters, a stock card is played. Where it
does not, stock plays are links of a chain like any other.

An action may need two things: to be next of its suit and bare, or to be on top of its foundation and to have a slot.
One of the two links that give them leaves a *debt*: the other may come from elsewhere. Within the class of the node all
actions are open in such a state; a state further on becomes a node of its own. docs/klondike-proof.md says why nothing
is missed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardems_solver.kernels.bits import U0, U1, U4, bit, lowest, mix, popcount
from cardems_solver.kernels.jit import jit
from cardems_solver.kernels.klondike_needs import useful
from cardems_solver.kernels.klondike_state import (
    CODE,
    FOOT,
    HOME,
    KINGS,
    LOCKED,
    NEXTS,
    ORDERED,
    PRUNE,
    PRUNE_CHAINS,
    PRUNE_USEFUL,
    RETURN,
    RETURNS,
    SHIFT,
    STOCK,
    STOCK_HOME,
    STOCK_PLACE,
    VISIBLE,
    act,
    both,
    guests_of,
    homes,
    hosts_of,
    is_won,
    room,
    settle,
    unsettled,
)
from cardems_solver.kernels.klondike_stock import access, locate, turns_apart

# Status of a search.
LOST, WON, BUDGET, TABLE_FULL, STACK_FULL, CHAIN_FULL, CUT = range(7)

# A node on the stack: the words of its state, then where the stock stands, and two that belong to the search.
WHERE, PROMISE, MARK, NODE_SIZE = 5, 6, 7, 8

# A frame, a link of the chain that is being followed: the words of the state after it; by kind of action what is
# possible there, what is still to be tried of it as a link and what as an event; and the link itself.
POSSIBLE, TO_DO, EVENTS, LINK, FRAME_SIZE = 5, 10, 15, 20, 21
KINDS = 5

# ``counts``: nodes stored, nodes expanded, links followed, height of the stack, and which of two tables is in use.
STORED, NODES, LINKS, HEIGHT, TABLE, COUNTS = range(6)


class Work(NamedTuple):
    """The arrays of a search.

    Attributes:
        stack: uint64[n, 8], the nodes on the path (expanded) and those still to be expanded.
        slots: uint64[2^k, 1 or 2], codes of the nodes met, in open addressing; 0 where free. Where the order of the
            stock matters, with the set of the sizes of waste with which each was met.
        counts: int64[5].
        frames: uint64[m, 21], the chain being followed.
        met: uint64[2^k + 1, 3], the links followed from the node being expanded; see ``meet``.
        accessible: uint64[52], see ``klondike_stock.access``.
        record: int64[4096], actions.
    """

    stack: np.ndarray
    slots: np.ndarray
    counts: np.ndarray
    frames: np.ndarray
    met: np.ndarray
    accessible: np.ndarray
    record: np.ndarray


def new_work(slots: int = 1 << 12, stack: int = 1 << 12, chain: int = 1 << 10, columns: int = 2) -> Work:
    return Work(
        np.zeros((stack, NODE_SIZE), np.uint64),
        np.zeros((slots, columns), np.uint64),
        np.zeros(COUNTS, np.int64),
        np.zeros((chain, FRAME_SIZE), np.uint64),
        np.zeros((4 * chain + 1, 3), np.uint64),
        np.zeros(52, np.uint64),
        np.zeros(4096, np.int64),
    )


@jit
def insert(slots, code, wastes, better):
    """Put a node into the table; was there none as good? Code 0 (all home) is never stored.

    wastes: the size of its waste, as a set; better: the sizes that are as good or better.
    """
    mask = np.uint64(slots.shape[0]) - U1
    i = mix(code) & mask
    while slots[i, 0] != U0 and slots[i, 0] != code:
        i = (i + U1) & mask
    is_new = slots[i, 0] == U0
    slots[i, 0] = code
    if slots.shape[1] == 2:
        is_new = slots[i, 1] & better == U0
        slots[i, 1] |= wastes
    return is_new


@jit
def copy_codes(old, new):
    """Copy all codes of a table to a larger, empty one."""
    for n in range(old.shape[0]):
        if old[n, 0] != U0:
            insert(new, old[n, 0], old[n, old.shape[1] - 1], U0)


@jit
def meet(met, code, link):
    """Is this the first time since the last ``forget`` that this link leads to this state? Then note it. Row 0
    counts; the others hold state and link and, in the third column, a list of the rows in use."""
    mask = np.uint64(met.shape[0] - 2)
    i = mix(mix(code) + link) & mask
    while True:
        if met[i + U1, 1] == U0:
            met[i + U1, 0] = code
            met[i + U1, 1] = link
            n = met[0, 0] + U1
            met[n, 2] = i + U1
            met[0, 0] = n
            return True
        if met[i + U1, 0] == code and met[i + U1, 1] == link:
            return False
        i = (i + U1) & mask


@jit
def forget(met):
    for i in range(1, np.int64(met[0, 0]) + 1):
        met[met[i, 2], 1] = U0
    met[0, 0] = U0


@jit
def promise(visible, nexts, stock):
    """The larger, the later a node is looked at: cards not turned up count most, then all that are not home."""
    turned_up = popcount(visible) + popcount(stock) + popcount(homes(nexts))
    return np.uint64(8 * (52 - turned_up) + popcount(visible) + popcount(stock))


@jit
def arrange(stack, start, end):
    """Sort new nodes so that the most promising one is on top."""
    for i in range(start + 1, end):
        j = i
        while j > start and stack[j - 1, PROMISE] < stack[j, PROMISE]:
            for k in range(NODE_SIZE):
                stack[j, k], stack[j - 1, k] = stack[j - 1, k], stack[j, k]
            j -= 1


@jit
def leaves_debt(action, visible, back, placed):
    """Could what this link gives be one of two things that a later action needs, the other coming from elsewhere?

    visible: in the tableau after it; back: at home, but may return; placed: those visible that lay in the stock when
    the chain began.
    """
    kind = action >> 6
    b = bit(action & 63)
    if kind in (HOME, STOCK_HOME) and visible & (b << U4):
        return True  # its successor may be bared elsewhere
    if kind == RETURN and back & (b >> U4):
        return True  # the one below it may find its slot elsewhere
    # A card out of the stock on which this gives a place may come next elsewhere.
    if kind == HOME:
        return hosts_of(b) & placed != U0
    if kind == RETURN:
        return both(b) & placed != U0
    return kind == STOCK_PLACE and (both(b) ^ b) & placed != U0


@jit
def drop_useless(f, ordered, bare, slots, back, playable, placed, foot):
    """Take out of what is to be tried in frame f (modified in place) what the next link could not need."""
    visible, nexts, stock = f[VISIBLE], f[NEXTS], f[STOCK]
    takers = f[LOCKED] | back & (nexts >> U4)
    leaving = visible & nexts
    if ordered:
        takers |= playable
        laid = useful(bare, takers, U0, leaving, U0)
    else:
        laid = useful(bare, takers, stock, leaving, placed)
        takers |= stock & laid
        f[TO_DO + STOCK_HOME] &= ((visible | stock) >> U4) | (laid & slots)
        f[TO_DO + STOCK_PLACE] &= laid
    f[TO_DO + RETURN] &= laid | back << U4
    room_for = (both(takers) | guests_of(leaving)) & ~slots | guests_of(placed)
    f[TO_DO + HOME] &= ((visible | stock) >> U4) | room_for | foot | KINGS
    if slots & KINGS or not KINGS & takers:
        f[TO_DO + SHIFT] = U0  # nobody needs the empty column


@jit
def look(deal, met, frames, depth, action, playable):
    """Note in frames[depth], which holds the state after a link, what is possible there and what of it to try.

    Returns whether the link leaves a debt outside the node's class: then nothing is to be tried, for the state becomes
    a node. playable: the stock cards that can be played in the node's state.
    """
    ordered = deal.numbers[ORDERED] != 0
    returns = deal.numbers[RETURNS] != 0
    f = frames[depth]
    visible, locked, nexts, stock = f[VISIBLE], f[LOCKED], f[NEXTS], f[STOCK]
    bare, slots = room(visible, locked)
    back = unsettled(deal, nexts) if returns else U0
    home = visible & bare & nexts
    return_ = back & (nexts >> U4) & slots
    stock_home = playable & stock & nexts
    place = playable & stock & slots
    shift = locked & slots
    f[POSSIBLE + HOME], f[POSSIBLE + RETURN], f[POSSIBLE + SHIFT] = home, return_, shift
    f[POSSIBLE + STOCK_HOME], f[POSSIBLE + STOCK_PLACE] = stock_home, place
    f[LINK] = np.uint64(action)
    for kind in range(KINDS):
        f[TO_DO + kind] = f[EVENTS + kind] = U0
    placed = visible & frames[0, STOCK]
    if depth > 0:
        # What follows must need this link, unless it leaves a debt.
        is_open = False
        chained = deal.numbers[PRUNE] & PRUNE_CHAINS != 0
        if not chained or leaves_debt(action, visible, back, placed):
            if stock != frames[0, STOCK] or locked != frames[0, LOCKED]:
                return True
            is_open = meet(met, f[CODE], U1)
        if not is_open:
            g = frames[depth - 1]
            home &= ~g[POSSIBLE + HOME]
            return_ &= ~g[POSSIBLE + RETURN]
            stock_home &= ~g[POSSIBLE + STOCK_HOME]
            place &= ~g[POSSIBLE + STOCK_PLACE]
            shift &= ~g[POSSIBLE + SHIFT]
    foot = deal.words[FOOT]
    if returns:  # going home and coming back does the same
        place &= ~stock_home
        shift &= ~home | foot
    inner = ~locked | foot  # those that leave no layer behind
    f[EVENTS + HOME], f[EVENTS + SHIFT] = home & ~inner, shift & ~inner
    f[TO_DO + HOME], f[TO_DO + RETURN], f[TO_DO + SHIFT] = home & inner, return_, shift & foot
    stock_plays = EVENTS if ordered else TO_DO
    f[stock_plays + STOCK_HOME], f[stock_plays + STOCK_PLACE] = stock_home, place
    if deal.numbers[PRUNE] & PRUNE_USEFUL:
        drop_useless(f, ordered, bare, slots, back, playable, placed, foot)
    return False


@jit
def push(deal, work, place, visible, locked, nexts, stock, code, where):
    """Put a new node on the stack at a place. Returns WON, what is full now, or BUDGET."""
    work.counts[STORED] += 1
    b = work.stack[place]
    b[VISIBLE], b[LOCKED], b[NEXTS], b[STOCK], b[CODE], b[WHERE] = visible, locked, nexts, stock, code, where
    b[PROMISE], b[MARK] = promise(visible, nexts, stock), U0
    if is_won(deal, locked, stock):
        return WON
    if place + 1 == work.stack.shape[0]:
        return STACK_FULL
    if 4 * work.counts[STORED] > 3 * work.slots.shape[0]:
        return TABLE_FULL
    return BUDGET


@jit
def expand(deal, work, node, wanted, wanted_where):
    """Follow all chains from stack[node]; push the new nodes they end in. Returns LOST, WON, or -1 times what is full.

    With ``wanted`` not 0, instead stop at the event that leads to the node of that code and that place in the stock,
    leave the actions in ``record``, and return how many they are.
    """
    ordered = deal.numbers[ORDERED] != 0
    stack, counts, frames, record = work.stack, work.counts, work.frames, work.record
    where = stack[node, WHERE]
    playable = stack[node, STOCK]
    if ordered:
        playable = access(deal, stack[node, CODE], where, work.accessible)
    forget(work.met)
    for i in range(CODE + 1):
        frames[0, i] = stack[node, i]
    end = counts[HEIGHT]
    depth = 0
    action = -1
    while True:
        # A new link; the state after it is in its frame.
        counts[LINKS] += 1
        f = frames[depth]
        owed = look(deal, work.met, frames, depth, action, playable)
        for kind in range(-1, KINDS):
            if kind == -1:
                events = U1 if owed else U0
            else:
                events = f[EVENTS + kind]
            while events != U0:
                c = lowest(events)
                events &= events - U1
                n = 0
                if wanted != U0:
                    for i in range(1, depth + 1):
                        record[n] = frames[i, LINK]
                        n += 1
                v, d, x, s, k = f[VISIBLE], f[LOCKED], f[NEXTS], f[STOCK], f[CODE]
                if kind >= 0:
                    v, d, x, s, k = act(deal, kind, c, v, d, x, s, k)
                    record[n] = kind << 6 | c
                    n += 1
                v, d, x, s, k, n = settle(deal, v, d, x, s, k, record, n)
                there, wastes, better = where, U1, U1
                if ordered:
                    if kind in (STOCK_HOME, STOCK_PLACE):
                        there = work.accessible[c]
                    there, wastes, better = locate(deal, k, there)
                    k += turns_apart(deal, where, there)
                if wanted != U0:
                    if k == wanted and there == wanted_where:
                        return n
                elif is_won(deal, d, s) or insert(work.slots, k, wastes, better):
                    status = push(deal, work, end, v, d, x, s, k, there)
                    end += 1
                    if status != BUDGET:
                        counts[HEIGHT] = end
                        return WON if status == WON else -status

        # The next link: something still to try here or further up.
        while True:
            action = -1
            while depth >= 0 and action < 0:
                f = frames[depth]
                for kind in range(KINDS):
                    if f[TO_DO + kind] != U0:
                        action = kind
                        break
                if action < 0:
                    depth -= 1
            if action < 0:
                arrange(stack, counts[HEIGHT], end)
                counts[HEIGHT] = end
                return LOST
            c = lowest(f[TO_DO + action])
            f[TO_DO + action] &= f[TO_DO + action] - U1
            if depth > 0 and action in (HOME, RETURN) and (action ^ 1) << 6 | c == np.int64(f[LINK]):
                continue  # it only undoes the link before it
            v, d, x, s, k = act(deal, action, c, f[VISIBLE], f[LOCKED], f[NEXTS], f[STOCK], f[CODE])
            action = action << 6 | c
            if meet(work.met, k, np.uint64(action + 2)):
                break
        depth += 1
        if depth == frames.shape[0] or 2 * work.met[0, 0] + 4 > work.met.shape[0]:
            counts[HEIGHT] = end
            return -CHAIN_FULL
        f = frames[depth]
        f[VISIBLE], f[LOCKED], f[NEXTS], f[STOCK], f[CODE] = v, d, x, s, k
