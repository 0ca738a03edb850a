"""Webhooks over HTTP: their bodies and answers, and the routes.

`route` registers what `models` describes with `mnemolog/webhooks/registered.py`.
"""
