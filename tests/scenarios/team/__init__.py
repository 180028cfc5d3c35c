"""The team at work: the product runs, only its models are scripted.

team_runner   runs scenarios (`deskmate.testing.scenario`) one after another in one folder
story         one whole piece of work: a REST service becomes GraphQL
"""
