"""Going back: checkpoints of the files, and new teams that continue an old conversation.

checkpointing  saves the files before the lead acts on each message of the user
past_files     the files as they were at a checkpoint, to look at
rewinding      restores files, and what can be undone
forking        a new team with the conversation of another one up to a point
"""
