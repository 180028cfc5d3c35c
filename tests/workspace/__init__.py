"""The folder an agent works in: what its tools reach, and what its commands leave behind."""
