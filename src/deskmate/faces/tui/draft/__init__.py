"""What is being typed.

draft_input  the text that is typed
"""
