"""Warnings of conflicts, before anything is merged: who changes the same files in different trees.

overlaps        which members change the same files, and which of their commits conflict
edited_files    which files a member changed with its file tools, folded from its transcript
overlap_texts   what members are told of it
"""
