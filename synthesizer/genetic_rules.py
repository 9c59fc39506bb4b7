"""Rules and structural zeros as evolution keeps them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizer.data.table import BoolArray, Table
from synthesizer.genetic.coding import Coding, Records
from synthesizer.genetic.population import Allowed
from synthesizer.plan_genetic import evolved_names
from synthesizer.rules import Rule, Zero, forbidden_rows

__all__ = ["keeping"]


def keeping(rules: Sequence[Rule], zeros: Sequence[Zero], table: Table) -> Allowed | None:
    """Return what says which records keep to rules and structural zeros; None without any."""
    if not rules and not zeros:
        return None
    coding = Coding.of([table[name].variable for name in evolved_names(table)])

    def allowed(records: Records) -> BoolArray:
        cells, place = np.unique(np.asarray(records, dtype=np.int64), return_inverse=True)
        made = coding.decode(cells)
        kept = ~forbidden_rows(zeros, made)
        for rule in rules:
            own = made[rule.variable]
            kept &= np.asarray(rule.apply(own, made).data == own.data)
        return np.asarray(kept[place])

    return allowed
