"""Going back to an earlier point, for every face.

rewind_command  /rewind: checkpoints listed, compared and restored
"""
