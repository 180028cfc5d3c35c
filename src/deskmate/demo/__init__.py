"""The demo: a scripted team moves a small application from REST to GraphQL. Only the models' words are scripted.

demo_script  who says what when; start reading here
demo_parts   what a member says next, from its conversation
paced_model  words at reading speed
application  the files of the application in `library/`
"""
