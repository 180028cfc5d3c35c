"""Models: what answers prompts. Nothing is imported here, so a process pays only for the model it uses.

wires          the wire formats of providers
signing        requests that are signed, for Bedrock and Vertex AI
http            requests to providers, and answers read as they arrive
retry          asks again after a passing error, and another model if it does not pass
wrapped_model  what every model that asks another one has in common
chosen         the current model, which the user may change while it is in use
metered        reports what each reply costs
slotted        asks only while a call slot is held
preload        loads what an answer needs while the first answer arrives
timed          asks no more once the time of the run is up
served_window  the context window that a server of the user says it has
model_limits   context window and output size by model family
prices         US dollars by model
scripted       says what a script tells it, for tests and the demo
"""
