"""TODO mnemolog/client."""
