"""What agents are given that depends on the settings.

asked_models     the model that an agent asks by a name, and the HTTP client that all models share
hook_parts       the hooks of a process, if there are any
member_launchers  the ways to run a teammate
provider_models  the model of a name, without retries, its limits, and whether it can be used
mcp_servers      the MCP servers of a run: which are configured, and how each is reached
server_parts      what depends on servers: MCP servers, and other machines
server_check     an MCP server tried out, and its tools approved
http_servers     MCP servers over HTTP, and the logins of the user at them
web_tools        the tools for the web, if the settings give them
given_files      what a user gives for one run: a schema, agent types, MCP servers, hosts
telemetry_parts  what exports a running team to an OpenTelemetry collector
usable_types     agent types with models that can be used, and which of them are trusted
"""
