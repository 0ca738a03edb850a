"""Policies: the rules of each tenant and agent for what is remembered, and for what must not be kept.

`in_force.Policies` reads the topic of policies and holds those in force. `redactions.Redactions` builds from them, and
from the setting, how the texts of each are redacted.
"""
