"""Hosts: other machines that run teammates.

host_records  what hosts and leads record in the stream of their space
host_fold     that stream folded: who is there, and what runs on each
placement     which host a teammate runs on
host_texts    hosts in words, for models and for people
"""
