"""Going back to a checkpoint."""
