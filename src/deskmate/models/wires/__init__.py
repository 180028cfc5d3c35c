"""Wire formats of providers: requests written, streams read.

requests         a prompt as the body of a request
anthropic        Anthropic's Messages API
openai           chat completions, as OpenAI and many servers speak them
responses        OpenAI's Responses API
gemini           the Gemini API
provider_model   what the models of all formats have in common
reply_parts      what all need to read a reply
usage            how many tokens a reply took
json_fields      reading JSON that a provider sent
http_client      one HTTP client for all models of a process
sse              server-sent events from bytes
provider_errors  what went wrong at a provider, as one of our errors
"""
