"""TODO mnemolog/http/models."""
