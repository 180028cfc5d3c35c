"""The work of a team in the user's branch and files, without losing anything of the user's.

branch_handover  when that is possible, and each step of it
task_copies      the work of each task as a commit on the user's branch
half_written     files that git was writing when it failed or was killed
left_locks       what a killed hand-over leaves beside the user's index
user_checkout    the files and the index of the user, changed only as a whole
"""
