"""What is being typed.

draft_input      the text that is typed
draft_menu       what can be chosen for a typed word
pasted_lines     long pasted texts, shown as one short label
"""
