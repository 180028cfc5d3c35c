"""The sandbox: what a command may see, write, reach and use.

levels              what this machine can do to confine commands
mounts              what a confined command sees of the machine, as a list of mounts
bubblewrap          one command started in bubblewrap
landlock            the kernel's Landlock rights
landlock_command    one command started with Landlock, if bubblewrap is not available
hidden_paths        what a command must not see
protected_paths     what a command must not change in the workspace
mount_placeholders  placeholders for protected files that do not exist
seccomp             system calls a command may not make
resource_limits     what one command may take of the machine
network             the hosts that a command may reach, and the way there
sockets             sockets of others on this machine
"""
