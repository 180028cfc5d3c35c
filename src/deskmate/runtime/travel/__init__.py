"""Code on its way between the lead and members on other machines, while a team runs.

travel_ports    what this needs of git and of the disk
payload_travel  files sent and received through the store, in chunks
code_exchange   bundles sent and received, with what lead and members say about them
lead_code       the lead's side: it answers members, takes in their work and shows them the branch
member_code     a member's side, and its tree
"""
