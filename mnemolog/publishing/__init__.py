"""TODO mnemolog/publishing."""
