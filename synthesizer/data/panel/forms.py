"""The forms in which a source may hold its units, by name."""

from __future__ import annotations

from synthesizer.data.codec import Family
from synthesizer.data.panel.arrangement import Arrangement, Plain
from synthesizer.data.panel.long_form import LongForm
from synthesizer.data.panel.wide_form import WideForm

_BY_NAME: dict[str, type] = {"plain": Plain, "long": LongForm, "wide": WideForm}
_NAMES = {form: name for name, form in _BY_NAME.items()}

FORMS = Family(Arrangement, _NAMES.__getitem__, _BY_NAME.__getitem__)
"""How a saved model names the form of its source."""
