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

# A frame, a link of the chain that is being followed: the words of the state after it, what is possible there, what is
# still to be tried of it, both by kind of action, and the link itself.
POSSIBLE, TO_DO, LINK, FRAME_SIZE = 5, 10, 15, 16
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
        frames: uint64[m, 16], the chain being followed.
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
def expand(deal, work, node, wanted, wanted_where):
    """Follow all chains from stack[node]; push the new nodes they end in. With ``wanted`` not 0, instead stop at the
    event that leads to the node of that code and that place in the stock, leave the actions in ``record``, and return
    how many they are."""
    ordered = deal.numbers[ORDERED] != 0
    returns = deal.numbers[RETURNS] != 0
    chained = deal.numbers[PRUNE] & PRUNE_CHAINS != 0
    choosy = deal.numbers[PRUNE] & PRUNE_USEFUL != 0
    foot = deal.words[FOOT]
    stack, counts, frames, record = work.stack, work.counts, work.frames, work.record
    visible, locked, nexts = stack[node, VISIBLE], stack[node, LOCKED], stack[node, NEXTS]
    stock, code = stack[node, STOCK], stack[node, CODE]
    where = stack[node, WHERE]
    stock_before, locked_before = stock, locked
    playable = stock
    if ordered:
        playable = access(deal, code, where, work.accessible)
    forget(work.met)
    end = counts[HEIGHT]
    depth = -1
    action = -1
    while True:
        # A new link; the state after it is in the local variables.
        depth += 1
        if depth == frames.shape[0] or 2 * work.met[0, 0] + 4 > work.met.shape[0]:
            counts[HEIGHT] = end
            return -CHAIN_FULL
        counts[LINKS] += 1
        bare, slots = room(visible, locked)
        home = visible & bare & nexts
        back = unsettled(deal, nexts) if returns else U0
        return_ = back & (nexts >> U4) & slots
        stock_home = playable & stock & nexts
        place = playable & stock & slots
        shift = locked & slots
        f = frames[depth]
        f[VISIBLE], f[LOCKED], f[NEXTS], f[STOCK], f[CODE] = visible, locked, nexts, stock, code
        f[POSSIBLE + HOME], f[POSSIBLE + RETURN], f[POSSIBLE + SHIFT] = home, return_, shift
        f[POSSIBLE + STOCK_HOME], f[POSSIBLE + STOCK_PLACE] = stock_home, place
        f[LINK] = np.uint64(action)

        # What follows must need this link, unless it leaves a debt.
        owed = False
        is_open = depth == 0
        if depth > 0:
            g = frames[depth - 1]
            kind = action >> 6
            b = bit(action & 63)
            if kind in (HOME, STOCK_HOME):  # its successor may be bared elsewhere
                owed = visible & (b << U4) != U0
            elif kind == RETURN:  # the one below it may find its slot elsewhere
                owed = back & (b >> U4) != U0
            if not owed:  # one out of the stock, bared by this, may come next elsewhere
                hosts = both(b) if kind in (RETURN, STOCK_PLACE) else hosts_of(b) if kind == HOME else U0
                if kind == STOCK_PLACE:
                    hosts ^= b
                owed = hosts & visible & stock_before != U0
            owed |= not chained
            if owed and stock == stock_before and locked == locked_before:
                is_open = meet(work.met, code, U1)
                owed = False
            if not is_open:
                home &= ~g[POSSIBLE + HOME]
                return_ &= ~g[POSSIBLE + RETURN]
                stock_home &= ~g[POSSIBLE + STOCK_HOME]
                place &= ~g[POSSIBLE + STOCK_PLACE]
                shift &= ~g[POSSIBLE + SHIFT]
        if returns:
            place &= ~stock_home
            shift &= ~home | foot
        inner = ~locked | foot
        home_event, shift_event = home & ~inner, shift & ~inner
        if owed:  # the new node's chains go on from here
            home_event = shift_event = stock_home = place = U0
            f[TO_DO + HOME] = f[TO_DO + RETURN] = f[TO_DO + STOCK_HOME] = f[TO_DO + STOCK_PLACE] = f[TO_DO + SHIFT] = U0
        else:
            f[TO_DO + HOME], f[TO_DO + RETURN], f[TO_DO + SHIFT] = home & inner, return_, shift & foot
            f[TO_DO + STOCK_HOME] = f[TO_DO + STOCK_PLACE] = U0
            if not ordered:
                f[TO_DO + STOCK_HOME], f[TO_DO + STOCK_PLACE] = stock_home, place
            if choosy:
                takers = locked | back & (nexts >> U4)
                leaving = visible & nexts
                placed = visible & stock_before
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

        for kind in range(-1, KINDS):
            if kind == -1:
                events = U1 if owed else U0
            elif kind == HOME:
                events = home_event
            elif kind == SHIFT:
                events = shift_event
            elif kind == RETURN or not ordered:
                events = U0
            elif kind == STOCK_HOME:
                events = stock_home
            else:
                events = place
            while events != U0:
                c = lowest(events)
                events &= events - U1
                n = 0
                if wanted != U0:
                    for i in range(1, depth + 1):
                        record[n] = frames[i, LINK]
                        n += 1
                v, d, x, s, k = visible, locked, nexts, stock, code
                if kind >= 0:
                    v, d, x, s, k = act(deal, kind, c, v, d, x, s, k)
                    record[n] = kind << 6 | c
                    n += 1
                v, d, x, s, k, n = settle(deal, v, d, x, s, k, record, n)
                place_, wastes, better = where, U1, U1
                if ordered:
                    if kind in (STOCK_HOME, STOCK_PLACE):
                        place_ = work.accessible[c]
                    place_, wastes, better = locate(deal, k, place_)
                    k += turns_apart(deal, where, place_)
                if wanted != U0:
                    if k == wanted and place_ == wanted_where:
                        return n
                    continue
                won = is_won(deal, d, s)
                if won or insert(work.slots, k, wastes, better):
                    counts[STORED] += 1
                    b = stack[end]
                    b[VISIBLE], b[LOCKED], b[NEXTS], b[STOCK], b[CODE], b[WHERE] = v, d, x, s, k, place_
                    b[PROMISE], b[MARK] = promise(v, x, s), U0
                    end += 1
                    if won:
                        counts[HEIGHT] = end
                        return WON
                    if end == stack.shape[0]:
                        counts[HEIGHT] = end
                        return -STACK_FULL
                    if 4 * counts[STORED] > 3 * work.slots.shape[0]:
                        counts[HEIGHT] = end
                        return -TABLE_FULL

        # The next link: something still to do here or further up.
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
            visible, locked, nexts, stock, code = act(
                deal, action, c, f[VISIBLE], f[LOCKED], f[NEXTS], f[STOCK], f[CODE]
            )
            action = action << 6 | c
            if meet(work.met, code, np.uint64(action + 2)):
                break
