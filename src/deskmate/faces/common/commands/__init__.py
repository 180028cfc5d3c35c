"""Commands in a conversation: those from files, prompts that are built in, and those that show something.

command_list    which ones there are, for menus and for help
cell_lines      texts as lines of cells
look_commands   the slash commands that only show something
command_help    everything that can be typed
command_sender  a command as it is sent, after its shell commands ran
first_line      first words that are a command
goal_command    /goal: what must be so before the lead ends its work
loop_command    /loop: what the lead is told again and again
memory_command  the notes that new teams get, shown and edited
external_editor a text in the user's own editor
"""
