"""Custom commands: prompts in files that a person sends by name, such as `/review 12`.

command_files   from the text of a command file to a command
command_words   what a person typed, as a command and its arguments
prompt_commands prompts that are built in
command_prompts a command with its arguments filled in: the words, and the shell commands to run before they are sent
"""
