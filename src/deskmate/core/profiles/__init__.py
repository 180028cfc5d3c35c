"""Agent types: what an agent of each type is told, and which tools it has.

agent_profiles  an agent type, and how one is chosen by its name
agent_files     from the text of an agent file to an agent type
tool_words      tools by the names that agent files use
"""
