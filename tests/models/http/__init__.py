"""The HTTP client: responses read, proxies chosen, connections used again."""
