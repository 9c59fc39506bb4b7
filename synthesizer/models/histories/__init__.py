"""Models of longitudinal variables: each wraps a base model, any conditional model."""
