"""MCP servers: their connections and their tools. The SDK is imported only if a server is configured.

stdio_transport    a server in a process of its own: started in the sandbox, with bounded messages
http_transport     a server reached over HTTP, with bounded answers
http_route         how servers over HTTP are reached: directly, or through a proxy
login              the logins of the user at servers over HTTP
server_launch      what is started for a server: its words, its variables and its sandbox
message_lines      messages as lines of JSON in a pipe, bounded
sdk_connection     one connection to a server, made with the SDK
server_connection  one server: started when it is needed, restarted when it died
user_input         what a server asks the user during a call
approved_tools     which tools of a server the user approved, on disk
call_results       what a server answers to a call, as the model reads it
tool_catalogue     which tools of servers an agent may use
mcp_tools          the tools of servers, as agents have them
team_servers       all servers of one process of Deskmate
"""
