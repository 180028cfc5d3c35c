"""`deskmate run` and `deskmate demo` in processes of their own."""
