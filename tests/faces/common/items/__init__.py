"""What all faces share."""
