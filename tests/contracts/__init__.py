"""One suite per seam, over every adapter."""
