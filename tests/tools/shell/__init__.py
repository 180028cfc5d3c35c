"""The bash tool and the parser of shell commands."""
