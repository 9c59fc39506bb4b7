"""Make data: registry of models, chain, drawing, saved models, structural zeros."""
