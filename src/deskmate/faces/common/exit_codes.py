"""Exit codes that several commands share."""

USAGE, UNUSABLE, INTERRUPTED = 2, 3, 130

EXIT_CODES_EPILOG = """
\b
Exit codes:
  0    answered, or submitted a plan in plan mode
  1    the agent could not continue; stderr says why, and how to resume
  2    wrong usage or settings
  3    the store, workspace or output cannot be used, or Deskmate failed
  4    answered, but work is left; stderr says what
  130  interrupted; stderr says how to resume
"""
