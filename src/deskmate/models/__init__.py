"""Models: what answers prompts. Nothing is imported here, so that a process pays only for the one it uses.

anthropic        Anthropic's Messages API
  anthropic_wire   a prompt as the body of its request
openai           chat completions, of OpenAI and of the many servers that speak them
  openai_wire      a prompt as the body of their request
bodies           what both need to write a request: stable JSON, ids, names, pictures
replies          what both need to fold a reply: blocks out of fragments, and how much of it there may be
usage            how many tokens a reply came to, told or estimated
fields           reading JSON that a provider sent
http             one client for all; a request answered by a stream of events
  sse              events out of bytes
  failures         what went wrong at a provider, as one of our errors
retrying         asks again when trouble passes, and another model when it does not
metered          says what each reply costs
slotted          asks only while a slot is held
timed            does not ask again after the time of the run
  prices           US dollars by model
limits           tokens by family of models
scripted         says what it was told to say, for tests and the demo
"""
