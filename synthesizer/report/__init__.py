"""The steward's report: numbers of the checks, arranged on a page that needs no network."""
