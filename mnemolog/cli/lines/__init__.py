"""TODO mnemolog/cli/lines."""
