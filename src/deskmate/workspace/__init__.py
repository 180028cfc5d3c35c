"""Workspaces: the folder an agent works in, and what keeps its tools there.

`ports.Workspace` above is what the runtime and the tools see.

    local         the workspace on this machine: files by descriptor, commands in a process group of their own
    paths         a path followed by hand, descriptor by descriptor, never out of the root
    files         reading and replacing one file
    private       our own folders below `.teams`: blobs, and the list of process groups
    globs         which paths a glob pattern matches
    searching     finding files, and the command that searches them
    script        the text of a command, handed over so that no list of processes shows it
    command       one running command, from its start until nothing of it is left
    processes     which processes belong to a command, and how they are ended
    sweep         what a predecessor left running
    outputs       what a command prints: bounded, kept, made readable
    levels        what this machine can do to confine commands
    sandbox       what a confined command sees of the machine
    masks         what it does not: tables of names
    sockets       where others on this machine listen
    guards        what it must not change in its workspace
    repositories  where git keeps the repository of a workspace, and those within it
    git_config    the paths that git's settings name
    git_index     the names in git's index
    git_lists     the index and the list of conflicts: unsafe names in them
    git_entries   links, special files and locks in git's folder
    git_watch     what a command leaves there, removed or told
    placeholders  what stands where something guarded is missing
    limits        what it may take of the machine
    descriptors   how many files may be open, and so how much runs at once
    filters       the system calls it may not make
    confined      one command started in the sandbox
"""
