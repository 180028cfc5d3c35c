"""The plain chat: lines typed at a terminal or piped in.

plain_chat          the conversation
keyboard            a terminal to type at and to print on at the same time
word_completer      what its menu offers
piped_texts         texts from a pipe
conversation_lines  the conversation as it is printed
"""
