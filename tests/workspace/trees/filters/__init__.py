"""Files that git converts when it reads or writes them."""
