"""What a measure is, which there are, and what computes them."""
