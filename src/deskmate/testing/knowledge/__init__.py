"""What a model must be told, checked at every call: K1 to K8 of the promises.

knowledge_checks  the checks
truth             who asks, and what the logs say at that moment
team_logs         the same, folded from files
prompt_parts      which words of a prompt are ours
team_facts        whether the members and tasks it tells are so
told_phrases      the phrases by which a prompt tells a fact
told_facts        whether what a prompt tells is so
overlap_facts     whether what it tells of work that meets is so
"""
