"""Teams in a browser.

page_commands  web and export, with their help
"""
