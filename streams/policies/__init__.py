"""Policies: what each tenant and agent wants remembered, and what must not be kept.

`in_force.Policies` reads the topic of policies and holds those in force. `redactions.Redactions` builds from them, and
from the setting, how the texts of each are redacted.
"""
