"""What a typed text names, beside its words.

file_paths   text files
image_paths  images, as they are typed, dropped or pasted
server_resources  resources of MCP servers
"""
