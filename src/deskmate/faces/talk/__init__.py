"""What is typed in a conversation, for every face that has one.

talk      a line carried out: words to somebody, or a command
commands  what can be typed behind a slash
budget    the caps, shown and set
asking    questions as they are shown
history   what was typed before, kept for the next time
"""
