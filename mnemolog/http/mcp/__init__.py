"""TODO mnemolog/http/mcp."""
