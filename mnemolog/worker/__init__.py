"""TODO mnemolog/worker."""
