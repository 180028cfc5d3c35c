"""The wire formats of providers: requests written, replies read."""
