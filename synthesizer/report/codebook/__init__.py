"""What goes out with the synthetic datasets: the codebook for the researchers who get them."""
