"""Trust: which folders, files and teams are used, and which secrets a process knows."""
