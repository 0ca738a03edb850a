"""TODO mnemolog/wakes."""
