"""Wire formats of providers: requests written, streams read.

anthropic          Anthropic's Messages API
anthropic_request  a prompt as the body of its request
openai             chat completions, as OpenAI and many servers speak them
openai_request     a prompt as the body of their request
request_parts      what both need to write a request
kept_messages      the parts of a request that are written once for a conversation
reply_parts        what both need to read a reply
usage              how many tokens a reply took
json_fields        reading JSON that a provider sent
http_client        one HTTP client for all models of a process
sse                server-sent events from bytes
provider_errors    what went wrong at a provider, as one of our errors
"""
