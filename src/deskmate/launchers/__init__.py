"""Launchers: ways to run a member outside of this process.

process  one process for each member, on this machine

`ports.Launcher` is what the runtime sees of them. The launcher of this process itself is in `app.build`.
"""
