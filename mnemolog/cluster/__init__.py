"""TODO mnemolog/cluster."""
