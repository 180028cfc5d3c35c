"""Stores: where streams are kept. Every store passes one contract suite, `deskmate.testing.store_contract`.

jsonl_store     the default: JSON lines in readable files, for any number of processes on one machine
line_format     one line: record, number, checksum, damage
stream_file     one stream on disk, as this process knows it
seats           the exclusive right to run a member
wakeups         waking callers that wait for a stream
file_watch      changed files as the operating system reports them
memory_store    streams in this process, for tests
named_team_store a team that a lead created: its own streams, and those that stay in the lead's first team
archive         archiving a team, and which team it belongs to
removal         deleting the folders of a team
engines         what keeps teams: files, or a server for many machines
looks           one team as a person sees it
projections     readable copies: `config.json` and one file per task
"""
