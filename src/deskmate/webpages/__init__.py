"""Pages of the web, and searches, for agents. Imported only if the settings give agents these tools.

web_fetch         the tool that reads a page
web_search        the tool that searches
search_providers  whom it can ask, as one table
page_client       asks for a page: public addresses only, bounded in size, time and redirects
page_address      the address of a page, and where its host is
page_robots       whether a site lets programs read a page
page_text         what a person would read on a page
"""
