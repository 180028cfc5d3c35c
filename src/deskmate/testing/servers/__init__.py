"""Servers for tests and benchmarks. Each runs on this machine only, in a folder of its own, and ends with its starter.

postgres_server  a PostgreSQL server on a socket in that folder
nats_servers     one NATS server or a cluster of three
cut_network      machines whose cables can be pulled
storm_place      where the team of a storm is kept, and its records without the product's code
"""
