"""Moving teams between stores, from any shell.

store_commands    migrate, with its help
migration_output  what it prints
"""
