"""Launchers: ways to have a member played that are not a task of this process.

process   a process for each member, on this machine

`ports.Launcher` above is what the runtime sees of them. The launcher of this process itself is `app.furnishing`.
"""
