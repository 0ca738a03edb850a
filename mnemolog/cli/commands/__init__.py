"""TODO mnemolog/cli/commands."""
