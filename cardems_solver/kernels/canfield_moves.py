"""What can be done in a Canfield position: the positions after each event, with safe moves home made at once.

An event is a card's going home, the reserve's top or a stock card (drawn to) going onto a column, one column going onto
another, a stock card filling a space. Carrying part of a column is no event: see ``canfield_state``.
"""

from __future__ import annotations

import numpy as np

from cardems_solver.kernels.bits import U0, U1, U2, U4, bit, lowest, popcount
from cardems_solver.kernels.canfield_state import (
    ANY_PARENT,
    DECK,
    ELSEWHERE,
    PRUNE_MERGE,
    PRUNE_SAFE,
    UNLIMITED,
    chains,
    children_of,
    ends,
    first_parents,
    height,
    hosts_of,
    on_tableau,
    packed,
    reached,
    roomy,
    stock_cards,
    swap_twins,
    unpacked,
)
from cardems_solver.kernels.jit import jit
from cardems_solver.outcome import TO_COLUMN, TO_FOUNDATION

U_ANY_PARENT = np.uint64(ANY_PARENT)
_LOW4 = np.uint64(15)


@jit
def is_safe(heights, card):
    """Does a card that can go home from a column or the reserve lose nothing by going at once?

    Let it be x of rank k. The only use it has where it is, is to carry the two cards w of rank k - 1 and the other
    colour. Take any line of play; we show one that has x home at once and at least as many cards home at every
    later time (so this preserves what can be won and the most cards that can reach the foundations).

    Both w are home: nothing is ever laid on x. If x does not empty a column, leave out x's move. If it does and the
    reserve fills the column with z, the line's later moves of z from the reserve are made from that column (after
    which the next reserve card fills it, as it lies on top of the reserve in the line); when the line moves x home or
    onto another column, do nothing: the line then has z in the same place. Without a reserve there is a space more,
    which need not be filled. If x is the reserve's top, the next card takes its part in the same way.

    More generally, let both cards of rank k - 2 below the w be home and the w need not be, and of x's colour the other
    card v of rank k - 2 have its next lower card home. Where the line lays a w on x it can go home instead, from the
    same place (what it carries can only be v, which can go home first; v carries nothing that is not home). Where it
    lays v on a w that has gone home, v goes home. Moves of cards that are home already are left out.
    """
    k = card >> 2
    s = card & 3
    other = min(height(heights, s ^ 2), height(heights, s ^ 3))
    return other >= k or (other >= k - 1 and height(heights, s ^ 1) >= k - 2)


@jit
def next_cards(heights):
    """The next card of every foundation that is not full."""
    found = U0
    for s in range(4):
        found |= U1 << (U4 * ((heights >> np.uint64(4 * s)) & _LOW4) + np.uint64(s))
    return found & DECK


@jit
def safe_cards(table, heights):
    """Those of the next cards for which ``is_safe``; none without PRUNE_SAFE."""
    safe = U0
    if table.prune & PRUNE_SAFE:
        ahead = next_cards(heights)
        while ahead:
            card = lowest(ahead)
            ahead &= ahead - U1
            if is_safe(heights, card):
                safe |= bit(card)
    return safe


@jit
def taken_home(table, bases, heights, reserve, card):
    """A card of the tableau or the reserve's top goes home; a column that it empties is filled from the reserve.
    Returns bases, heights, reserve."""
    heights += U1 << np.uint64(4 * (card & 3))
    place = table.where[card]
    if place >= 64 and place != ELSEWHERE and place - 64 < reserve:
        return bases, heights, reserve - 1
    m = bit(card)
    if bases & m:
        bases &= ~m
        if reserve > 0:
            reserve -= 1
            bases |= bit(table.reserve[reserve])
    return bases, heights, reserve


@jit
def freed(table, tableau, bases, second, reserve):
    """The cards of the tableau that no other card lies on or, where parts of columns move, could be freed."""
    if not table.partial:
        return ends(tableau, bases, second)
    if table.any_space and reserve == 0:
        if chains(tableau) < 4:
            return tableau
        return tableau & hosts_of(roomy(tableau, U0))
    return tableau & hosts_of(roomy(tableau, bases))


@jit
def settled(table, bases, second, left, heights, drawn, turns, reserve, went):
    """Send home what is safe, until nothing is.

    A stock card's going home is safe where it changes nothing about which others can be reached: drawing one with no
    limit (unless draws count), or as the waste's top drawing one or in the last pass.

    Returns bases, second, left, heights, drawn, reserve. went: int64[>= 1], modified in place: ``went[0]`` is how many
    went home, and their cards follow as far as there is room.
    """
    went[0] = 0
    free_stock = table.draw == 1 and turns == UNLIMITED and table.free_draws
    free_top = table.draw == 1 or turns == 0
    while True:
        safe = safe_cards(table, heights)
        if safe == U0:
            break
        tableau = on_tableau(table, left, heights, reserve)
        ready = safe & (freed(table, tableau, bases, second, reserve) | table.reserve_top[reserve])
        if ready:
            card = lowest(ready)
            bases, heights, reserve = taken_home(table, bases, heights, reserve, card)
            second &= ~bit(card)
        elif free_stock or free_top:
            card = -1
            while safe:
                c = lowest(safe)
                safe &= safe - U1
                place = table.where[c]
                if place < 64 and (left >> np.uint64(place)) & U1:
                    p = popcount(left & ((U2 << np.uint64(place)) - U1))
                    if free_stock or p == drawn:
                        card = c
                        left &= ~bit(place)
                        drawn = p - 1
                        heights += U1 << np.uint64(4 * (card & 3))
                        break
            if card < 0:
                break
        else:
            break
        went[0] += 1
        if went[0] < went.size:
            went[went[0]] = card
    return bases, second, left, heights, drawn, reserve


@jit
def laid(table, bases, second, card, parent):
    """Bases and second parents after a card that was a base or not on the tableau was laid on ``parent``."""
    bases &= ~bit(card)
    if not table.partial and (card ^ parent) & 1:
        second |= bit(card)
    return bases, second


@jit
def filled(table, bases, reserve):
    """Bases and number in the reserve after a column was emptied."""
    if reserve > 0:
        reserve -= 1
        bases |= bit(table.reserve[reserve])
    return bases, reserve


@jit
def places_for(table, room, card):
    """Where a card can be laid in the columns, as bits of destinations; ``room`` as in ``successors``."""
    if table.partial:
        return ((room >> np.uint64(card)) & U1) << U_ANY_PARENT
    m = bit(card)
    both = first_parents(m)
    return room & (both | swap_twins(both)) & DECK


@jit
def add(table, bases, second, left, heights, drawn, turns, reserve, safe, move, words, moves, n, went):
    """Settle a successor and append it. Returns the new number of successors.

    safe: the ``safe_cards``, if known; where there are none, nothing can go home.
    """
    went[0] = 0
    if safe:
        bases, second, left, heights, drawn, reserve = settled(
            table, bases, second, left, heights, drawn, turns, reserve, went
        )
    words[n, 0], words[n, 1] = packed(table, bases, turns, left, heights, drawn, reserve)
    words[n, 2] = second
    moves[n] = move
    return n + 1


@jit
def add_merges(
    table, room, filler, bases, second, left, heights, drawn, turns, reserve, safe, move, words, moves, n, went
):
    """Append every laying of a column on another, as ``add`` does. The space is filled from the reserve or, where it
    was made for a stock card that is played in ``move``, by ``filler``, the bit of that card (or else 0)."""
    candidates = bases
    while candidates:
        base = lowest(candidates)
        candidates &= candidates - U1
        places = places_for(table, room, base)
        while places:
            parent = lowest(places)
            places &= places - U1
            bases2, second2 = laid(table, bases, second, base, parent)
            reserve2 = reserve
            merge = base | parent << 6
            if filler:
                bases2 |= filler
                merge = move | (merge | 1 << 12) << 12
            else:
                bases2, reserve2 = filled(table, bases2, reserve)
            n = add(table, bases2, second2, left, heights, drawn, turns, reserve2, safe, merge, words, moves, n, went)
    return n


@jit
def successors(table, a, b, c, playable, words, moves, went):
    """All positions after one event, settled.

    playable: which of the stock cards left may be played, by place from 1 (bit p for the p-th).

    words: uint64[MAX_MOVES, 3], moves: int64[MAX_MOVES], went: int64[>= 1]: room for them, modified in place.
    A move is ``card | destination << 6``, the destination being the parent (ANY_PARENT where parts of columns move),
    TO_COLUMN or TO_FOUNDATION; if one column is laid on another first, ``| (base | parent << 6 | 1 << 12) << 12``
    besides. Returns their number.

    With PRUNE_MERGE, once the reserve is gone, a column is laid on another only when a stock card needs the space.
    Any line of play can be so changed that it holds to that: leave out the move of base b (with what lies on it) onto
    parent p, until either the line fills a space and there is none, and then make it; or the line takes all of b's
    cards
    home, and then there is no need. Until then b's column stands apart and p is not covered, so all that the line
    moves can still move: what it moves onto b's last card moves there, and if it moves the column of p, b stays where
    it is.
    """
    bases, turns, left, heights, drawn, reserve = unpacked(a, b)
    tableau = on_tableau(table, left, heights, reserve)
    loose = table.any_space and reserve == 0
    n = 0

    free = freed(table, tableau, bases, c, reserve)
    ahead = next_cards(heights)
    safe = safe_cards(table, heights)
    todo = ahead & (free | table.reserve_top[reserve])
    while todo:
        card = lowest(todo)
        todo &= todo - U1
        bases2, heights2, reserve2 = taken_home(table, bases, heights, reserve, card)
        second2 = c & ~bit(card)
        move = card | TO_FOUNDATION << 6
        n = add(table, bases2, second2, left, heights2, drawn, turns, reserve2, DECK, move, words, moves, n, went)

    # which cards could lie on a free card, or (where only whole columns move) the free cards themselves
    if not table.partial:
        room = free
        layable = children_of(free)
    else:
        room = roomy(tableau, U0 if loose else bases)
        layable = room

    if reserve > 0:
        card = table.reserve[reserve - 1]
        places = places_for(table, room, card)
        while places:
            parent = lowest(places)
            places &= places - U1
            bases2, second2 = laid(table, bases, c, card, parent)
            move = card | parent << 6
            n = add(table, bases2, second2, left, heights, drawn, turns, reserve - 1, safe, move, words, moves, n, went)
    if reserve > 0 or not table.prune & PRUNE_MERGE:
        n = add_merges(table, room, U0, bases, c, left, heights, drawn, turns, reserve, safe, 0, words, moves, n, went)

    columns = chains(tableau) if loose else popcount(bases)
    merge = columns == 4 and table.prune & PRUNE_MERGE and not loose
    now, later = reached(table, popcount(left), drawn, turns)
    playable &= now | later
    fewer_turns = turns if turns == UNLIMITED else turns - 1
    todo = left
    if reserve > 0 or (columns == 4 and not merge):
        todo = U0
        useful = stock_cards(table, left) & (layable | ahead)
        while useful:
            todo |= bit(table.where[lowest(useful)])
            useful &= useful - U1
    while todo:
        place = todo & (~todo + U1)
        todo &= ~place
        p = popcount(left & (place | (place - U1)))
        if (playable >> np.uint64(p)) & U1 == U0:
            continue
        card = table.stock[lowest(place)]
        m = bit(card)
        turns2 = turns if (now >> np.uint64(p)) & U1 else fewer_turns
        left2 = left & ~place
        if ahead & m:
            heights2 = heights + (U1 << np.uint64(4 * (card & 3)))
            move = card | TO_FOUNDATION << 6
            n = add(table, bases, c, left2, heights2, p - 1, turns2, reserve, DECK, move, words, moves, n, went)
            if safe & m:
                continue
        places = places_for(table, room, card)
        on_parent = places != U0
        while places:
            parent = lowest(places)
            places &= places - U1
            bases2, second2 = laid(table, bases, c, card, parent)
            move = card | parent << 6
            n = add(table, bases2, second2, left2, heights, p - 1, turns2, reserve, safe, move, words, moves, n, went)
        if reserve > 0 or (loose and on_parent):
            continue
        move = card | TO_COLUMN << 6
        if columns < 4:
            n = add(table, bases | m, c, left2, heights, p - 1, turns2, reserve, safe, move, words, moves, n, went)
        elif merge:
            n = add_merges(
                table, room, m, bases, c, left2, heights, p - 1, turns2, reserve, safe, move, words, moves, n, went
            )
    return n
