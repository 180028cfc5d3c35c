"""The bash tool, and the parser that tells which commands a shell text would run.

bash            run a command in the workspace
shell_commands  every command a shell text would run, or none if that is unclear
shell_programs  programs that run other programs
shell_words     what each word certainly is
heredocs        here-documents
command_hints   commands that can be seen in a text that is unclear as a whole
"""
