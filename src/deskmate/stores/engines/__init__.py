"""Engines: what keeps teams. Files in the workspace are the default, and a server can keep them for many machines.

engine       what an engine can do, and what a person sees of a team that it keeps
engine_table which engine belongs to a URL
engine_url   our options in URLs, and how URLs are shown
file_engine  the default: folders of the workspace
server_engine   the teams of one space of a server
server_store    the streams and seats of one team there
server_look     a team there as a person sees it
server_backend  what the client of a server does for the three
server_checks   what `deskmate doctor` checks of every server
loop_thread     the event loop of a server's connections
postgres        PostgreSQL
nats            NATS JetStream
"""
