"""Depth-first search over classes of positions: branch only where something happens that cannot be taken back.

A *node* is a class of states that turn into one another by sending cards home and taking them back (without foundation
return: a single state); each is stored once. From a node the *chains* are followed: sequences of actions in which each
is needed by the next, that is, would leave it impossible if left out. Every other action can wait. A chain ends in an
event, which makes a new node: a layer comes up, or, where the order of the stock matters, a stock card is played. Where
it does not, stock plays are links of a chain like any other.

An action may need two things: to be next of its suit and bare, or to be on top of its foundation and to have a slot.
The link that brings the first (the suit's card before it home while it lies in the tableau; a slot for a card that is
home) leaves a *debt*. Within the class of the node all actions are open in such a state; a state further on becomes a
node of its own. docs/klondike-proof.md says why nothing is missed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cardems_solver.kernels.bits import U0, U1, U2, U4, bit, lowest, mix, popcount
from cardems_solver.kernels.jit import jit, jit_making
from cardems_solver.kernels.klondike_needs import useful
from cardems_solver.kernels.klondike_state import (
    CODE,
    FIRST,
    FOOT,
    HOME,
    KINGS,
    LOCKED,
    NEXTS,
    ORDERED,
    RETURN,
    RETURNS,
    SEED,
    SHIFT,
    STOCK,
    STOCK_HOME,
    STOCK_PLACE,
    VISIBLE,
    act,
    homes,
    is_won,
    restless,
    room,
    settle,
)
from cardems_solver.kernels.klondike_stock import access, locate

# Status of a search.
LOST, WON, BUDGET, TABLE_FULL, STACK_FULL, CHAIN_FULL = range(6)

# A node on the stack: the words of its state, then:
WHERE, PROMISE, EXPANDED, NODE_SIZE = 5, 6, 7, 8

# A frame, a link of the chain that is being followed: the words of the state after it, what is possible there, what is
# still to be tried of it, both by kind of action, the cards with a slot, and the link itself.
POSSIBLE, TO_DO, BARE, LINK, FRAME_SIZE = 5, 10, 15, 16, 17
KINDS = 5

NOISE = np.uint64(7)

# ``counts``: nodes stored, nodes expanded, links followed, height of the stack, and which of two tables is in use.
STORED, NODES, LINKS, HEIGHT, TABLE, COUNTS = range(6)


class Work(NamedTuple):
    """The arrays of a search.

    Attributes:
        stack: uint64[n, 8], the nodes on the path (expanded) and those still to be expanded.
        slots: uint64[2^k], codes of the nodes met, in open addressing; 0 where free.
        counts: int64[5].
        frames: uint64[m, 17], the chain being followed.
        met: uint64[2^k + 1, 3], the links followed from the node being expanded; see ``meet``.
        accessible: int64[52, 2], see ``klondike_stock.access``.
        record: int64[4096], actions.
    """

    stack: np.ndarray
    slots: np.ndarray
    counts: np.ndarray
    frames: np.ndarray
    met: np.ndarray
    accessible: np.ndarray
    record: np.ndarray


def new_work(slots: int = 1 << 12, stack: int = 1 << 12, chain: int = 1 << 10) -> Work:
    return Work(
        np.zeros((stack, NODE_SIZE), np.uint64),
        np.zeros(slots, np.uint64),
        np.zeros(COUNTS, np.int64),
        np.zeros((chain, FRAME_SIZE), np.uint64),
        np.zeros((4 * chain + 1, 3), np.uint64),
        np.zeros((52, 2), np.int64),
        np.zeros(4096, np.int64),
    )


@jit
def insert(slots, code):
    """Put a code into the table unless it is there; was it new? Code 0 (all home) is never stored."""
    mask = np.uint64(slots.size) - U1
    i = mix(code) & mask
    while True:
        found = slots[i]
        if found == U0:
            slots[i] = code
            return True
        if found == code:
            return False
        i = (i + U1) & mask


@jit
def copy_codes(old, new):
    """Copy all codes of a table to a larger, empty one."""
    for n in range(old.size):
        if old[n] != U0:
            insert(new, old[n])


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
def promise(visible, nexts, stock, code, seed):
    """The larger, the later a node is looked at: cards not turned up count most, then all that are not home. A seed
    other than 0 shuffles nodes that are about equal."""
    turned_up = popcount(visible) + popcount(stock) + popcount(homes(nexts))
    late = np.uint64(8 * (52 - turned_up) + popcount(visible) + popcount(stock))
    if seed == 0:
        return late
    return late + (mix(mix(code) + np.uint64(seed)) & NOISE)


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
def expand(deal, work, node, wanted):
    """Follow all chains from stack[node]; push the new nodes they end in. With ``wanted`` not 0, instead stop at the
    event that leads to the node of that code, leave the actions in ``record``, and return how many they are."""
    ordered = deal.numbers[ORDERED] != 0
    returns = deal.numbers[RETURNS] != 0
    foot = deal.words[FOOT]
    stack, counts, frames, record = work.stack, work.counts, work.frames, work.record
    visible, locked, nexts = stack[node, VISIBLE], stack[node, LOCKED], stack[node, NEXTS]
    stock, code = stack[node, STOCK], stack[node, CODE]
    where = stack[node, WHERE]
    first, turn = np.int64(where) & 0xFF, np.int64(where) >> 8
    stock_before, locked_before = stock, locked
    part_before = U0
    playable = stock
    if ordered:
        playable = access(deal, stock, where, work.accessible)
        _, part_before = locate(deal, stock, first, turn)
    forget(work.met)
    top = counts[HEIGHT]
    depth = -1
    action = -1
    while True:
        # A new link; the state after it is in the local variables.
        depth += 1
        if depth == frames.shape[0] or 2 * work.met[0, 0] + 4 > work.met.shape[0]:
            counts[HEIGHT] = top
            return -CHAIN_FULL
        counts[LINKS] += 1
        bare, slots = room(visible, locked)
        home = visible & bare & nexts
        back = restless(nexts) if returns else U0
        return_ = back & (nexts >> U4) & slots
        stock_home = playable & stock & nexts
        place = playable & stock & slots
        shift = locked & slots
        if returns:
            shift &= ~home
        f = frames[depth]
        f[VISIBLE], f[LOCKED], f[NEXTS], f[STOCK], f[CODE] = visible, locked, nexts, stock, code
        f[POSSIBLE + HOME], f[POSSIBLE + RETURN], f[POSSIBLE + SHIFT] = home, return_, shift
        f[POSSIBLE + STOCK_HOME], f[POSSIBLE + STOCK_PLACE] = stock_home, place
        f[BARE], f[LINK] = bare, np.uint64(action)

        # What follows must need this link, unless the state is open.
        owed = False
        is_open = depth == 0
        if depth > 0:
            g = frames[depth - 1]
            c = action & 63
            placed = visible & stock_before
            if action >> 6 in (HOME, STOCK_HOME):
                owed = c < 48 and visible & bit(c + 4) != U0
            elif action >> 6 == RETURN:
                owed = back & (bit(c) >> U4) != U0
            elif action >> 6 == STOCK_PLACE:
                placed &= ~bit(c)
            if not owed and bare & ~g[BARE] & placed:
                owed = True
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
        inner = ~locked | foot
        home_event, shift_event = home & ~inner, shift & ~inner
        if owed:  # the new node's chains go on from here
            home_event = shift_event = stock_home = place = U0
            f[TO_DO + HOME] = f[TO_DO + RETURN] = f[TO_DO + STOCK_HOME] = f[TO_DO + STOCK_PLACE] = f[TO_DO + SHIFT] = U0
        else:
            if ordered:
                _, returned = useful(bare, slots, visible, locked, nexts, back, U0, playable, stock_before)
                kings = locked | playable
                f[TO_DO + STOCK_HOME] = f[TO_DO + STOCK_PLACE] = U0
            else:
                laid, returned = useful(bare, slots, visible, locked, nexts, back, stock, U0, stock_before)
                kings = locked | (stock & laid)
                f[TO_DO + STOCK_HOME] = stock_home & (((visible | stock) >> U4) | (laid & slots))
                f[TO_DO + STOCK_PLACE] = place & laid
            f[TO_DO + HOME] = home & inner
            f[TO_DO + RETURN] = return_ & returned
            shift &= foot
            if slots & KINGS or not KINGS & (kings | (nexts >> U4 & returned)):
                shift = U0  # nobody needs the empty column
            f[TO_DO + SHIFT] = shift

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
                place_ = U0
                if ordered:
                    if kind in (STOCK_HOME, STOCK_PLACE):
                        place_, part = locate(deal, s, work.accessible[c, 0], work.accessible[c, 1])
                    else:
                        place_, part = locate(deal, s, first, turn)
                    k += part - part_before
                if wanted != U0:
                    if k == wanted:
                        return n
                    continue
                won = is_won(deal, d, s)
                if won or insert(work.slots, k):
                    counts[STORED] += 1
                    b = stack[top]
                    b[VISIBLE], b[LOCKED], b[NEXTS], b[STOCK], b[CODE], b[WHERE] = v, d, x, s, k, place_
                    b[PROMISE], b[EXPANDED] = promise(v, x, s, k, deal.numbers[SEED]), U0
                    top += 1
                    if won:
                        counts[HEIGHT] = top
                        return WON
                    if top == stack.shape[0]:
                        counts[HEIGHT] = top
                        return -STACK_FULL
                    if 4 * counts[STORED] > 3 * work.slots.size:
                        counts[HEIGHT] = top
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
                arrange(stack, counts[HEIGHT], top)
                counts[HEIGHT] = top
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


@jit
def first_node(deal, record):
    """The state that the search begins with, settled, and how many actions in ``record`` lead to it."""
    w = deal.words
    return settle(deal, w[VISIBLE], w[LOCKED], w[NEXTS], w[STOCK], w[CODE], record, 0)


@jit
def begin(deal, work):
    """Put the first node on the stack; ``slots`` must be all zeros. Returns WON or BUDGET."""
    visible, locked, nexts, stock, code, _ = first_node(deal, work.record)
    where = U0
    if deal.numbers[ORDERED] != 0:
        where, part = locate(deal, stock, deal.numbers[FIRST], 0)
        code += part
    b = work.stack[0]
    b[VISIBLE], b[LOCKED], b[NEXTS], b[STOCK], b[CODE], b[WHERE] = visible, locked, nexts, stock, code, where
    b[EXPANDED] = U0
    work.counts[:] = 0
    work.counts[HEIGHT] = work.counts[STORED] = 1
    if is_won(deal, locked, stock):
        return WON
    insert(work.slots, code)
    return BUDGET


@jit
def search(deal, work, budget):
    """Search on for ``budget`` more nodes; returns a status. A node at which an array was full is marked with 2 and
    expanded again later; what it has led to by then stays on the stack."""
    counts, stack = work.counts, work.stack
    end = counts[NODES] + budget
    while counts[HEIGHT] > 0:
        node = counts[HEIGHT] - 1
        if stack[node, EXPANDED] == U1:
            counts[HEIGHT] -= 1
            continue
        if counts[NODES] >= end:
            return BUDGET
        if node + 1 == stack.shape[0]:
            return STACK_FULL
        stack[node, EXPANDED] = U1
        counts[NODES] += 1
        status = expand(deal, work, node, U0)
        if status < 0:
            stack[node, EXPANDED] = U2
            return -status
        if status == WON:
            return WON
    return LOST


@jit_making
def path(deal, work):
    """After a win: write to ``record`` the actions that lead from the position to the last node; return how many."""
    record = work.record
    height = work.counts[HEIGHT]
    actions = np.empty(record.size, np.int64)
    n = 0
    here = -1
    for node in range(height):
        if node < height - 1 and work.stack[node, EXPANDED] == U0:
            continue
        if here < 0:
            _, _, _, _, _, more = first_node(deal, record)
        else:
            more = expand(deal, work, here, work.stack[node, CODE])
        actions[n : n + more] = record[:more]
        n += more
        here = node
    record[:n] = actions[:n]
    return n
