"""A prompt as the body of a request.

anthropic_request  for Anthropic's Messages API
openai_request     for chat completions
responses_request  for OpenAI's Responses API
gemini_request     for the Gemini API
request_parts      what all need to write a request
kept_messages      the parts of a request that are written once for a conversation
"""
