"""Files cut, damaged or lost, failing system calls, seats, and strings that break programs."""
