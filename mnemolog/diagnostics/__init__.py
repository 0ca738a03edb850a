"""TODO mnemolog/diagnostics."""
