"""What could need a card laid on the tableau: the mask that keeps Klondike's search to chains which may lead somewhere.

It errs on the side of too much. docs/klondike-proof.md has the proof.
"""

from __future__ import annotations

from cardems_solver.kernels.jit import jit
from cardems_solver.kernels.klondike_state import both, hosts_of


@jit
def useful(bare, takers, placeable, leaving, placed):
    """The cards that, laid on the tableau, could be needed by what follows at once.

    Only one whose rank and colour had no bare card is. It is needed by a card that takes the slot: one of ``takers``,
    or of ``placeable`` if that one is useful in turn; or by its twin on the tableau, which can be bare then, if that is
    one of ``leaving``. Besides, the twins of ``placed``, for which a card laid is a debt.
    """
    twins = both(leaving)
    laid = both(placed)
    while True:
        more = laid | ~bare & (hosts_of(takers | (placeable & laid)) | twins)
        if more == laid:
            return laid
        laid = more
