"""The checks that only a panel has: replicated careers, and careers and histories beside noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from synthesizer.attempts import Attempts
from synthesizer.data.table import Table
from synthesizer.panel.frame import Frame
from synthesizer.panel.view import PersonView
from synthesizer.risk.replicated_careers import CareerReplicates, ReplicatedCareers
from synthesizer.utility.panel_measures import PanelCollector
from synthesizer.utility.panel_result import PanelResult
from synthesizer.utility.panel_sequences import career_matrix

__all__ = ["PanelChecks"]

CAREERS = "replicated_careers"


class PanelChecks:
    """Looks at the panels of datasets that come in one by one; of tables without one at nothing.

    Parameters
    ----------
    original : Table
        Confidential data; a `PersonView` where they are a panel.
    frame : Frame or None
        Its periods, and the variable of the careers.
    sequences : bool
        Whether careers and histories are compared.
    careers : bool
        Whether replicated careers are counted.
    generator : callable
        Gives the generator of the noise floor.
    attempts : Attempts
        Collects what could not be computed of replicated careers.
    """

    def __init__(
        self,
        original: Table,
        frame: Frame | None,
        *,
        sequences: bool,
        careers: bool,
        generator: Callable[[], np.random.Generator],
        attempts: Attempts,
    ) -> None:
        self.attempts = attempts
        self._sequences: PanelCollector | None = None
        self._careers: CareerReplicates | None = None
        self._career = None if frame is None else frame.career
        if not isinstance(original, PersonView) or frame is None:
            return
        if sequences:
            self._sequences = PanelCollector(
                original.panel, frame, generator(), attempts=Attempts()
            )
        if careers:
            self._careers = CareerReplicates(career_matrix(original.panel, self._career))

    def add(self, synthetic: Table) -> None:
        """Look at the next dataset."""
        if not isinstance(synthetic, PersonView):
            return
        panel, counter = synthetic.panel, self._careers
        if self._sequences is not None:
            self._sequences.add(panel)
        if counter is not None and CAREERS not in self.attempts.failed:
            self.attempts.of(CAREERS, lambda: counter.add(career_matrix(panel, self._career)))

    @property
    def sequences(self) -> PanelResult | None:
        """Careers and histories of the datasets so far; None where they are not compared."""
        return None if self._sequences is None else self._sequences.result()

    @property
    def careers(self) -> ReplicatedCareers | None:
        """Replicated careers of the datasets so far; None where they are not counted."""
        counter = self._careers
        if counter is None or not counter.datasets or CAREERS in self.attempts.failed:
            return None
        return counter.result
