"""TODO mnemolog/operations."""
