"""TODO mnemolog/imports."""
