"""wires."""
