"""The plain chat: lines typed at a terminal or piped in.

plain_chat          the conversation
line_input          lines from a keyboard or a pipe
conversation_lines  the conversation as it is printed
"""
