"""What agents are given that depends on the settings.

member_launchers  the ways to run a teammate
provider_models  the model of a name, without retries, its limits, and whether it can be used
usable_types     agent types with models that can be used, and which of them are trusted
"""
