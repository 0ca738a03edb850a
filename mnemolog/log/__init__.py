"""TODO mnemolog/log."""
