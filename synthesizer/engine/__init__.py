"""Registry, chain, drawing, saved models, impossible combinations: what makes data."""
