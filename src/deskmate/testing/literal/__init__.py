"""LiteralAgent: a model that knows nothing but its prompt, and does what the prompt says.

literal_agent     the model
literal_reading   what it reads in a prompt
literal_requests  what it understands of requests and tasks
"""
