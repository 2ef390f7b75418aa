"""Depth-first search over classes of positions: branch only where something happens that cannot be taken back.

A *node* is a class of states that turn into one another by sending cards home and taking them back (without foundation
return: a single state); each is stored once. From a node the *chains* are followed: sequences of actions in which each
is needed by the next, that is, would leave it impossible if left out. Every other action can wait. A chain ends in an
event, which makes a new node: a layer comes up, or, where the order of the stock matters, a stock card is played. Where
it does not, stock plays are links of a chain like any other.

An action may need two things: to be next of its suit and bare, or to be on top of its foundation and to have a slot.
The link that brings the first leaves a *debt*. Within the class of the node all actions are open in such a state; a state
further on becomes a node of its own. docs/klondike-proof.md says why nothing is missed.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, U4, bit, lowest, mix
from cardems_solver.kernels.jit import entry, jit
from cardems_solver.kernels.klondike_state import (
    DRAW,
    LAST_PASS,
    LAYER,
    LOCK_UNDER,
    MASK_UNDER,
    PASS_RADIX,
    POSITION_RADIX,
    STOCK_BIT,
    STOCK_SIZE,
    is_safe,
    room,
)

# Kinds of action.
HOME, RETURN, STOCK_HOME, STOCK_PLACE, SHIFT = 0, 1, 2, 3, 4

# Status of a search.
LOST, WON, BUDGET, GROW_TABLE, GROW_STACK, TOO_DEEP = 0, 1, 2, 3, 4, 5

# A node on the stack.
VISIBLE, LOCKED, NEXTS, STOCK, CODE, WHERE, EXPANDED, NODE_SIZE = 0, 1, 2, 3, 4, 5, 6, 7

# A frame: one link of the chain that is being followed. The first five as in a node.
CAN_HOME, CAN_RETURN, CAN_STOCK_HOME, CAN_PLACE, CAN_SHIFT, SLOTS_FREE = 5, 6, 7, 8, 9, 10
TO_DO = 11  # five words, what is still to be tried, by kind of action
ACTION, FRAME_SIZE = 16, 17
DEEPEST = 3000

# ``counts``: nodes stored, nodes expanded, links followed, stack height.
STORED, NODES, LINKS, HEIGHT = 0, 1, 2, 3

MOST_CHILDREN = 2048
U20 = np.uint64(20)
SEEN_SIZE = 1 << 16


@jit
def insert(slots, key):
    """Put a key into the open-addressing table unless it is there; was it new? Key 0 (all home) is never stored."""
    mask = np.uint64(slots.size) - U1
    i = mix(key) & mask
    while True:
        found = slots[i]
        if found == U0:
            slots[i] = key
            return True
        if found == key:
            return False
        i = (i + U1) & mask


@jit
def refill(old, new):
    """Copy all keys of one table to a larger empty one."""
    mask = np.uint64(new.size) - U1
    for n in range(old.size):
        key = old[n]
        if key != U0:
            i = mix(key) & mask
            while new[i] != U0:
                i = (i + U1) & mask
            new[i] = key


@jit
def act(kind, c, visible, locked, nexts, stock, code, table, suits):
    """The state after an action, code but for the stock's position included."""
    b = bit(c)
    if kind in (HOME, STOCK_HOME):
        nexts ^= b | (b << U4)
        code += suits[c & 3]
    elif kind == RETURN:
        nexts ^= b | (b << U4)
        code -= suits[c & 3]
    if kind == STOCK_HOME:
        stock ^= b
        code -= table[c, STOCK_BIT]
    elif kind == STOCK_PLACE:
        stock ^= b
        visible |= b
        code -= table[c, STOCK_BIT]
    elif kind == RETURN:
        visible |= b
    else:
        if kind == HOME:
            visible ^= b
        if locked & b:
            locked ^= b | table[c, LOCK_UNDER]
            visible |= table[c, MASK_UNDER]
            code -= table[c, LAYER]
    return visible, locked, nexts, stock, code


@jit
def settle(visible, locked, nexts, stock, code, table, suits, returns, ordered, record, n):
    """Send home what can go home without loss: where cards may return, every free card (this names the class);
    always what is safe, turning up layers, and from the stock where its order does not matter. Writes the actions to
    ``record`` from n on; returns the state and the new n."""
    while True:
        bare, _ = room(visible, locked)
        able = visible & bare & nexts
        easy = able & ~locked
        if returns and easy != U0:
            c = lowest(easy)
            kind = HOME
        else:
            kind = -1
            c = 0
            while able != U0:
                c = lowest(able)
                if is_safe(nexts, c, returns):
                    kind = HOME
                    break
                able &= able - U1
            if kind < 0 and not ordered:
                able = stock & nexts
                while able != U0:
                    c = lowest(able)
                    if is_safe(nexts, c, returns):
                        kind = STOCK_HOME
                        break
                    able &= able - U1
            if kind < 0:
                return visible, locked, nexts, stock, code, n
        visible, locked, nexts, stock, code = act(kind, c, visible, locked, nexts, stock, code, table, suits)
        record[n] = kind << 6 | c
        n += 1


@jit
def access(stock, where, order, header, accessible):
    """Which stock cards can be played, drawing and turning over as needed: returns the set, and writes for each card
    the position and the pass after its play to ``accessible`` (int64[52, 2]: order number of the first card not in the
    waste, pass; the earliest pass if there are several).

    Drawn d at a time from a waste of w out of m, the tops are w (if any), w + d, w + 2d .. and m, the last draw being
    short; after turning over d, 2d .. and m. Playing the top of a waste of w leaves one of w - 1.
    """
    draw = header[DRAW]
    first = np.int64(where) & 0xFF
    pass_ = np.int64(where) >> 8
    left = 0
    waste = 0
    for i in range(header[STOCK_SIZE]):
        c = order[i]
        if stock & bit(c):
            left += 1
            if i < first:
                waste += 1
    again = header[LAST_PASS] < 0 or pass_ < header[LAST_PASS]
    result = U0
    n = 0
    for i in range(header[STOCK_SIZE]):
        c = order[i]
        if not stock & bit(c):
            continue
        n += 1
        now = n == waste or (n > waste and ((n - waste) % draw == 0 or n == left))
        if now or (again and (n % draw == 0 or n == left)):
            result |= bit(c)
            accessible[c, 0] = i
            accessible[c, 1] = pass_ if now else pass_ + 1
    return result


@jit
def position_code(stock, first, pass_, order, header):
    """(where, its part of the code) for a stock drawn up to order number ``first`` in a pass. With unlimited passes
    those positions are one that a turn of the stock leads back to: a waste of a multiple of the draw, or of all."""
    left = 0
    waste = 0
    after_waste = 0
    for i in range(header[STOCK_SIZE]):
        if stock & bit(order[i]):
            left += 1
            if i < first:
                waste += 1
                after_waste = i + 1
    first = after_waste
    if header[LAST_PASS] < 0 and (waste % header[DRAW] == 0 or waste == left):
        first = 0
    part = np.uint64(first) * np.uint64(header[POSITION_RADIX]) + np.uint64(pass_) * np.uint64(header[PASS_RADIX])
    return np.uint64(first | pass_ << 8), part


@jit
def meet(seen, code, link):
    """Has this link been met since the last ``forget``? If not, it is noted. seen: uint64[n + 1, 3]; row 0 counts, the
    others hold code and link and, in the third column, a list of the rows in use."""
    mask = np.uint64(seen.shape[0] - 2)
    i = mix(code ^ (link << U20)) ^ link
    i = i & mask
    while True:
        if seen[i + U1, 1] == U0:
            seen[i + U1, 0] = code
            seen[i + U1, 1] = link + U1
            n = seen[0, 0]
            seen[n + U1, 2] = i + U1
            seen[0, 0] = n + U1
            return True
        if seen[i + U1, 0] == code and seen[i + U1, 1] == link + U1:
            return False
        i = (i + U1) & mask


@jit
def forget(seen):
    for i in range(np.int64(seen[0, 0])):
        seen[seen[i + 1, 2], 1] = U0
    seen[0, 0] = U0


@jit
def homes(nexts):
    """The cards on the foundations."""
    home = nexts >> U4
    home |= home >> U4
    home |= home >> np.uint64(8)
    home |= home >> np.uint64(16)
    return home | home >> np.uint64(32)


def make(ordered, returns):
    """The search, compiled for one kind of rules.

    ordered: does the stock's order matter (draw above 1, or limited passes)?  returns: may foundation cards return?
    """

    @jit
    def expand(node, stack, slots, counts, frames, table, suits, foot, order, header, accessible, record, seen, wanted):
        """Follow all chains from stack[node]; push the new nodes they end in. With ``wanted`` not 0, instead stop at
        the event that leads to the node of that code, leaving the actions in ``record``, and return how many."""
        visible, locked, nexts = stack[node, VISIBLE], stack[node, LOCKED], stack[node, NEXTS]
        stock, code = stack[node, STOCK], stack[node, CODE]
        where = stack[node, WHERE]
        first, pass_ = np.int64(where) & 0xFF, np.int64(where) >> 8
        stock_before, locked_before = stock, locked
        old_part = U0
        playable = stock
        if ordered:
            playable = access(stock, where, order, header, accessible)
            _, old_part = position_code(stock, first, pass_, order, header)
        forget(seen)
        top = counts[HEIGHT]
        depth = -1
        action = -1
        while True:
            # A new link: the state is in the local variables.
            depth += 1
            if depth >= DEEPEST or 2 * seen[0, 0] > SEEN_SIZE:
                return -TOO_DEEP
            counts[LINKS] += 1
            f = frames[depth]
            bare, slots_free = room(visible, locked)
            can_home = visible & bare & nexts
            can_return = (nexts >> U4) & slots_free if returns else U0
            can_stock_home = playable & stock & nexts
            can_place = playable & stock & slots_free
            can_shift = locked & slots_free
            if returns:
                can_shift &= ~can_home
            f[VISIBLE], f[LOCKED], f[NEXTS], f[STOCK], f[CODE] = visible, locked, nexts, stock, code
            f[CAN_HOME], f[CAN_RETURN], f[CAN_STOCK_HOME] = can_home, can_return, can_stock_home
            f[CAN_PLACE], f[CAN_SHIFT] = can_place, can_shift
            f[SLOTS_FREE] = slots_free
            f[ACTION] = np.uint64(action)
            debt = False
            open_ = depth == 0
            if depth > 0:
                p = frames[depth - 1]
                kind = action >> 6
                c = action & 63
                if kind in (HOME, STOCK_HOME):
                    debt = c < 48 and visible & bit(c + 4) & ~bare != U0
                gained = slots_free & ~p[SLOTS_FREE]
                if returns and gained != U0:
                    debt |= gained & (homes(nexts) >> U4) != U0
                if debt and stock == stock_before and locked == locked_before:
                    open_ = meet(seen, code, U0)
                    debt = False
            if not open_:
                can_home &= ~p[CAN_HOME]
                can_return &= ~p[CAN_RETURN]
                can_shift &= ~p[CAN_SHIFT]
                can_stock_home &= ~p[CAN_STOCK_HOME]
                can_place &= ~p[CAN_PLACE]
            if returns:
                can_place &= ~can_stock_home
            inner = ~locked | foot
            f[TO_DO], f[TO_DO + 1], f[TO_DO + 4] = can_home & inner, can_return, can_shift & foot
            if ordered:
                f[TO_DO + 2], f[TO_DO + 3] = U0, U0
            else:
                f[TO_DO + 2], f[TO_DO + 3] = can_stock_home, can_place
            # Events.
            for kind in (-1, HOME, SHIFT, STOCK_HOME, STOCK_PLACE):
                if kind == -1:
                    events = U1 if debt else U0
                elif kind == HOME:
                    events = can_home & ~inner
                elif kind == SHIFT:
                    events = can_shift & ~inner
                elif not ordered:
                    events = U0
                elif kind == STOCK_HOME:
                    events = can_stock_home
                else:
                    events = can_place
                while events != U0:
                    c = lowest(events)
                    events &= events - U1
                    n = 0
                    if wanted != U0:
                        for i in range(1, depth + 1):
                            record[n] = frames[i, ACTION]
                            n += 1
                    if kind == -1:
                        v, d, x, s, k = visible, locked, nexts, stock, code
                    else:
                        v, d, x, s, k = act(kind, c, visible, locked, nexts, stock, code, table, suits)
                        record[n] = kind << 6 | c
                        n += 1
                    v, d, x, s, k, n = settle(v, d, x, s, k, table, suits, returns, ordered, record, n)
                    place = U0
                    if ordered:
                        if kind in (STOCK_HOME, STOCK_PLACE):
                            place, part = position_code(s, accessible[c, 0], accessible[c, 1], order, header)
                        else:
                            place, part = position_code(s, first, pass_, order, header)
                        k += part - old_part
                    if wanted != U0:
                        if k == wanted:
                            return n
                        continue
                    won = d & ~foot == U0 and (not ordered or s == U0)
                    if won or insert(slots, k):
                        counts[STORED] += 1
                        b = stack[top]
                        b[VISIBLE], b[LOCKED], b[NEXTS], b[STOCK], b[CODE], b[WHERE] = v, d, x, s, k, place
                        b[EXPANDED] = U0
                        top += 1
                        if won:
                            counts[HEIGHT] = top
                            return WON
            # The next link: something still to do here or further up.
            while True:
                action = -1
                while depth >= 0:
                    f = frames[depth]
                    for kind in range(5):
                        if f[TO_DO + kind] != U0:
                            action = kind
                            break
                    if action >= 0:
                        break
                    depth -= 1
                if depth < 0:
                    counts[HEIGHT] = top
                    return LOST
                c = lowest(f[TO_DO + action])
                f[TO_DO + action] &= f[TO_DO + action] - U1
                if action <= RETURN and depth > 0 and (action ^ 1) << 6 | c == np.int64(f[ACTION]):
                    continue  # undoes the link before it
                visible, locked, nexts, stock, code = act(
                    action, c, f[VISIBLE], f[LOCKED], f[NEXTS], f[STOCK], f[CODE], table, suits
                )
                action = action << 6 | c
                # The same link to the same state has been followed, or is being.
                if meet(seen, code, np.uint64(action + 1)):
                    break

    @entry
    def run(stack, slots, counts, frames, table, suits, foot, order, header, accessible, record, seen, budget):
        """Search on for ``budget`` more nodes. The stack holds the path (nodes marked as expanded) and what is still
        to be expanded. Modifies all but the deal's arrays; returns a status."""
        end = counts[NODES] + budget
        while counts[HEIGHT] > 0:
            node = counts[HEIGHT] - 1
            if stack[node, EXPANDED] != U0:
                counts[HEIGHT] -= 1
                continue
            if counts[NODES] >= end:
                return BUDGET
            if 3 * slots.size < 4 * (counts[STORED] + MOST_CHILDREN):
                return GROW_TABLE
            if counts[HEIGHT] + MOST_CHILDREN > stack.shape[0]:
                return GROW_STACK
            stack[node, EXPANDED] = U1
            counts[NODES] += 1
            status = expand(
                node, stack, slots, counts, frames, table, suits, foot, order, header, accessible, record, seen, U0
            )
            if status != LOST:
                return abs(status)
        return LOST

    @entry
    def actions(
        stack, slots, counts, frames, table, suits, foot, order, header, accessible, record, seen, node, wanted
    ):
        """Write to ``record`` the actions that lead from stack[node] to the node ``wanted``; return how many."""
        return expand(
            node, stack, slots, counts, frames, table, suits, foot, order, header, accessible, record, seen, wanted
        )

    return run, actions
