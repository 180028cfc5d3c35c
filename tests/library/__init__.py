"""The library as a program uses it: real teams in a folder, with a scripted model."""
