"""The team at work: the product is run, only its models are scripted.

stage     where a team is played, and what can be told of it afterwards
parts     how a scripted model reads its conversation
story     one whole piece of work: a REST service becomes GraphQL
"""
