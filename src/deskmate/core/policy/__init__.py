"""What is permitted, what is secret, and which files are trusted.

permissions          permission rules, modes, and the function that says allow, ask or deny
patterns             what the text in a rule matches, for paths and commands
claude_rules         permission rules in Claude Code's spelling
host_access          whether a confined command may reach a host that is not on the list
verdicts             what happens to a call that an agent wants to make
isolation            whether a teammate works in the user's folder or in its own copy of the repository
tool_table           the one table of tools, and which agents have them
passed_variables     the variables of the environment that the programs of agents get
redaction            known secrets found in a text and replaced by their names
secret_shapes        how vendors write their keys
secret_contexts      secrets recognised by the text around them
secret_placeholders  the text a model sees instead of a secret, and the way back
trusted_files        which files of a repository count, and how a team is known to be the user's own
"""
