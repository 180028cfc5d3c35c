"""For your tests and ours: fakes that stand at the seams, suites that state what a seam promises, and checkers.

clocks           FakeClock: time as a test input
disks            files that forget at a power loss whatever was not synced
history          what concurrent processes did, and whether any order explains it
kills            processes killed at random while they send, hear and claim, and the count of what was lost
store_contract   what every store promises, sentence by sentence
"""

from deskmate.testing.clocks import FakeClock

__all__ = ["FakeClock"]
