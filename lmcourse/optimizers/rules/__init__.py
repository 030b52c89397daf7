"""The update rules: each moves weights in place, by their gradients and what it remembers of them."""
