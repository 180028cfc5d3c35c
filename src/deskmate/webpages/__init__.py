"""Pages of the web, read for agents. Imported only if the settings give agents the tool.

web_fetch      the tool
page_client    asks for a page: public addresses only, bounded in size, time and redirects
page_address   the address of a page, and where its host is
page_robots    whether a site lets programs read a page
page_text      what a person would read on a page
"""
