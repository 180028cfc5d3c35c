"""Permissions, tools by role, redaction and trusted files."""
