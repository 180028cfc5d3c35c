"""Commands that a person sends by name: custom ones from files, and prompts that are built in.

usable_commands all commands of a folder, and which of them are trusted
lead_shell      shell commands of a prompt, judged and run as the lead's own
first_prompt    the first words of a run that are a command
"""
