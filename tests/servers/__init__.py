"""Servers that the tests of stores use: started once for all tests of a process, and none without the tests."""
