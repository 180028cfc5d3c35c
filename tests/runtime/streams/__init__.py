"""Live objects over the store: board, mailbox, roster, transcript, budget."""
