"""Both wire formats as a strict provider reads them.

anthropic_format  Anthropic's format: requests read, answers written
anthropic_rules   what it requires of a conversation
openai_format     chat completions: requests read, answers written
openai_rules      what it requires of a conversation
format_shapes     what both require
conversations     what is wrong with a conversation
prefix_caches     what a provider's cache would have read
"""
