"""Careers: sequences of states as (G, Z, W), their model, and what follows from them.

Source: Barrientos et al. (2018), Providing access to confidential research data through synthesis
and verification, section 3.2.1.
"""

from synthesizer.data.panel.reports import Replication, replication
from synthesizer.models.careers.career_options import CareerOptions
from synthesizer.models.careers.fitted import FittedCareers
from synthesizer.models.careers.fitting import fit_careers
from synthesizer.models.careers.match import CareerSummary, summary
from synthesizer.models.careers.runs import Runs, to_runs, to_sequences

__all__ = [
    "CareerOptions",
    "CareerSummary",
    "FittedCareers",
    "Replication",
    "Runs",
    "fit_careers",
    "replication",
    "summary",
    "to_runs",
    "to_sequences",
]
