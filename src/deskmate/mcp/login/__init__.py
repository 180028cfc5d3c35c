"""The logins of the user at servers over HTTP, with OAuth.

login_store      the login at one server, on disk
token_auth       requests with the token of a login, which is renewed if needed
small_answers    requests about a login: only to addresses that may be asked, with short and quick answers
login_flow       a new login, with the user's browser
login_callback   where the browser comes back to: this machine only
login_answers    what the browser brings
"""
