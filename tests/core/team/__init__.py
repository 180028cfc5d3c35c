"""The rules of roster, board, mail and spending."""
