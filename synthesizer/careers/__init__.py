"""Careers: sequences of states as (G, Z, W), their model, and what follows from them.

Source: Barrientos et al. (2018), Providing access to confidential research data through synthesis
and verification, section 3.2.1.
"""

from synthesizer.careers.fitted import FittedCareers
from synthesizer.careers.fitting import fit_careers
from synthesizer.careers.options import CareerOptions
from synthesizer.careers.reports import Replication, replication
from synthesizer.careers.runs import Runs, to_runs, to_sequences
from synthesizer.careers.summary import CareerSummary, summary

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
