"""AgentDojo's injections against a real agent whose model obeys everything it reads."""
