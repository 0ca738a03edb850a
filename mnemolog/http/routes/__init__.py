"""TODO mnemolog/http/routes."""
