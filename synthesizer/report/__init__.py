"""The steward's report: results of the checks on a page that needs no network."""
