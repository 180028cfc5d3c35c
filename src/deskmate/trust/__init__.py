"""What the user trusts: project files, teams, folders; and which secrets this process knows.

approvals       what the user has approved of each workspace
project_files   notes, settings, skills, agent files and commands of a workspace, and the environment an agent is told
described_files what Markdown files of the user or of a workspace describe, of any kind
type_files      the agent types that files of the user or of a workspace describe
configured_servers  the MCP servers that files of the user or of a workspace describe
command_folders the commands that files of the user or of a workspace describe
user_notes      notes that the user adds while talking to a team
team_signature  how a team is known to be the user's own
known_secrets   the secrets this process knows, and that no other process reads them from its memory
sandbox_choice  the sandbox that commands get, by settings and machine
chosen_engine   what keeps the teams of a workspace: files or a server
folders         which folder is worked in and which team is meant
"""
