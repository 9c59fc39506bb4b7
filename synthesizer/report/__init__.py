"""The steward's report: numbers that the checks wrote, arranged on one page that needs no network."""
