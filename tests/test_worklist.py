import random

import numpy as np
import pytest

from cardems_solver.deals import DealRange
from cardems_solver.worklist import Feeder, WorkList


def everything(feeder, most=7):
    found = []
    while taken := feeder.take(most):
        scheme, numbers = taken
        assert 0 < len(numbers) <= most
        found += [(scheme, int(n)) for n in numbers]
    assert feeder.left == 0
    return found


@pytest.mark.parametrize("seed", range(30))
def test_each_deal_comes_once_in_the_order_given(seed):
    rng = random.Random(seed)
    ranges = []
    for _ in range(rng.randrange(1, 8)):
        first = rng.randrange(1, 60)
        ranges.append(DealRange(rng.choice(("ms", "solvitaire")), first, first + rng.choice((0, 1, 5, 20))))
    expected = list(dict.fromkeys((r.scheme, n) for r in ranges for n in r))
    work = WorkList(ranges)
    assert work.count == len(expected)
    assert everything(Feeder(work)) == expected
    for i, (scheme, number) in enumerate(expected):
        assert work.index(scheme, number) == i
    for scheme in ("ms", "solvitaire", "exact"):
        for number in range(90):
            if (scheme, number) not in expected:
                assert work.index(scheme, number) is None
    done = np.array([rng.random() < 0.5 for _ in expected], np.uint8)
    assert everything(Feeder(work, done)) == [deal for deal, flag in zip(expected, done, strict=True) if not flag]


def test_neighbours_become_one_range():
    work = WorkList(DealRange("ms", n, n) for n in range(1, 1001))
    assert work.ranges == [DealRange("ms", 1, 1000)]
    assert work.describe() == ["ms:1..1000"]


def test_a_hole_larger_than_the_window():
    work = WorkList([DealRange("solvitaire", 0, 200_000)])
    done = np.ones(work.count, np.uint8)
    done[[3, 199_999]] = 0
    assert everything(Feeder(work, done)) == [("solvitaire", 3), ("solvitaire", 199_999)]


def test_numbers_beyond_a_machine_word():
    first = 1 << 200
    work = WorkList([DealRange("exact", first, first + 9)])
    assert everything(Feeder(work)) == [("exact", first + i) for i in range(10)]
    assert work.index("exact", first + 4) == 4
    huge = WorkList([DealRange("exact", 0, (1 << 200) - 1)])
    assert huge.count == 1 << 200
    assert list(Feeder(huge).take(3)[1]) == [0, 1, 2]
