"""Golden files of every format on disk, kept as they were first written and read by today's code."""
