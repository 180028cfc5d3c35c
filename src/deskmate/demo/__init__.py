"""The demo: a rehearsed team moves a small application from REST to GraphQL. Only the models' words are rehearsed.

demo_script  who says what when; start reading here
demo_parts   what a member says next, from its conversation
paced_model  words at reading speed
application  the files of the application in `library/`
"""
