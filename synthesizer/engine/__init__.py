"""Registry, chain, drawing and saved models: what makes data."""
