"""Stores: where streams are kept. All pass one contract suite (`deskmate.testing.store_contract`).

memory        in this process, for tests and throw-away teams
jsonl         files that people can read; any number of processes, one machine (the default)
  lines         one line: number, checksum, damage
  files         the few writing system calls, injectable
  folders       private folders, their lock, no symlink followed
  stream_file   one stream on disk, as this process knows it
  seats         the exclusive right to play a member
  beside        threads for blocking work
  bell          waking whoever waits for a stream
  watches       what the operating system tells about changed files
joint         a lead's home and the team it works in, as one
archive       whose home a team names, and putting a team away
removal       deleting the folders of a team for good
projections   readable copies of roster and board, from which nothing is taken
"""
