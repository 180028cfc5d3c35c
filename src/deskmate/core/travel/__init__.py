"""How code gets to members on other machines and back: as git bundles, in chunks, through the store.

code_records    what lead and members say about code, and its fold
code_routes     which bundles a receiver needs, and what a sender leaves out
payload_chunks  a file in chunks: cut, continued after a kill, put together
bundle_header   the first lines of a git bundle, which may come from anybody
"""
