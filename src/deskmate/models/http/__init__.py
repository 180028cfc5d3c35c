"""HTTP/1.1, as much of it as models need: requests with a body, and answers that are read as they arrive.

post_client       posts bodies, through proxies, over connections that are used again
address_race      a socket to the address of a host that answers first
connection        one connection: bytes out, bytes in, with time limits
response_reader   a response from bytes
content_decoding  what a server compressed without being asked to
proxy_choice      which proxy leads to a host, by the environment
server_trust      which certificates are trusted
http_failures     how a request can fail

Why this is not a library: docs/decisions/0031-own-http-client.md.
"""
