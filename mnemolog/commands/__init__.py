"""TODO mnemolog/commands."""
