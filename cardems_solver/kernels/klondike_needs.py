"""What could need an action: the masks that keep the search to chains which may lead somewhere.

All of them err on the side of too much. docs/klondike-proof.md has the proofs.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, U4, bit, lowest
from cardems_solver.kernels.jit import jit
from cardems_solver.kernels.klondike_state import FOOT, KINGS, SUIT, both, children_of, homes, hosts_of, restless


@jit
def useful(bare, slots, visible, locked, nexts, back, placeable, events):
    """(laid, returned): the cards that, laid on the tableau from the stock or from their foundation, could be needed by
    what follows at once.

    Only one that makes a slot where there was none is. It is needed by what takes the slot: the shift of a locked card,
    another card laid (``placeable``, or from its foundation, and useful in turn), an event with one of ``events``, or,
    as a debt, a card of ``back`` that others lie on. Or it is needed by its twin, which can go home from under a card
    then. A returned card also by the return of the one below it.

    back: the cards on the foundations that may have to come back.
    """
    top = back & (nexts >> U4)
    ends = locked | (back & ~top) | events
    twins = both(visible & nexts)
    laid = ~bare & (hosts_of(ends) | twins)
    returned = laid
    while True:
        more = ~bare & (hosts_of(ends | (placeable & laid) | (top & returned)) | twins)
        below = more | (returned & slots & back) << U4
        if more == laid and below == returned:
            return laid, returned
        laid, returned = more, below


@jit
def hopes(deal, slots, visible, locked, nexts, stock):
    """The cards that may come to have a slot before the next layer comes up. Nothing is ever used up here."""
    inner = (visible & (~locked | deal.words[FOOT])) | stock
    able = nexts & inner
    while True:
        more = able | ((able << U4) & inner)
        if more == able:
            break
        able = more
    hope = slots | both(able & visible)
    bring = stock | homes(nexts)
    while True:
        more = hope | children_of(hope & bring)
        if locked & deal.words[FOOT] & (hope | able):
            more |= KINGS
        if more == hope:
            return hope
        hope = more


@jit
def debts(deal, slots, gained, visible, locked, nexts, stock):
    """What the slots just gained mean for cards that others lie on, on their foundation: (tops that may as well come
    back now, since there are slots for all above such a card; must further slots be made first?)."""
    back = restless(nexts)
    tops = U0
    owed = False
    gained &= back & (back >> U4)
    while gained != U0:
        c = lowest(gained)
        gained &= gained - U1
        above = back & (SUIT << np.uint64(c & 3)) & ~(bit(c + 1) - U1)
        lacking = above & ~slots
        if lacking == U0:
            tops |= above & (nexts >> U4)
        elif not owed:
            owed = lacking & ~hopes(deal, slots, visible, locked, nexts, stock) == U0
    return tops, owed
