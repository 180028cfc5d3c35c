"""Servers on this machine: `deskmate web` and `deskmate mcp serve --http`.

request_check  whether a request comes from somebody who may send one
"""
