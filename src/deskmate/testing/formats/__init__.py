"""All wire formats as a strict provider reads them.

anthropic_format  Anthropic's format: requests read, answers written
anthropic_rules   what it requires of a conversation
openai_format     chat completions: requests read, answers written
openai_rules      what it requires of a conversation
responses_format  OpenAI's Responses API: requests read, answers written
responses_rules   what it requires of a conversation
gemini_format     the Gemini API: requests read, answers written
gemini_rules      what it requires of a conversation
request_routes    which format an address has
format_shapes     what all formats require
conversations     what is wrong with a conversation
prefix_caches     what a provider's cache would have read
"""
