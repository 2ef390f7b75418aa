"""What could need a card laid on the tableau: the masks that keep the search to chains which may lead somewhere.

They err on the side of too much. docs/klondike-proof.md has the proof.
"""

from __future__ import annotations

from cardems_solver.kernels.bits import U4
from cardems_solver.kernels.jit import jit
from cardems_solver.kernels.klondike_state import both, hosts_of


@jit
def useful(bare, slots, visible, locked, nexts, back, placeable, events, stock_before):
    """(laid, returned): the cards that, laid on the tableau from the stock or from their foundation, could be needed by
    what follows at once.

    Only one that makes a slot where there was none is. It is needed by what takes the slot: the shift of a locked card,
    another card laid (``placeable``, and useful in turn), an event with one of ``events``, or, as a debt, a card of
    ``back``. Or it is needed by its twin, which can go home from under a card then. A returned card also by the return
    of the one below it.

    back: the cards on the foundations that may have to come back.
    """
    ends = locked | back & (nexts >> U4) | events
    twins = both(visible & (nexts | stock_before))
    laid = ~bare & (hosts_of(ends) | twins)
    while True:
        more = ~bare & (hosts_of(ends | (placeable & laid)) | twins)
        if more == laid:
            break
        laid = more
    return laid, laid | back << U4
