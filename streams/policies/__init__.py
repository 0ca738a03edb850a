"""Policies: the rules of each tenant and agent for what is remembered, and for what must not be kept.

`in_force.Policies` reads the topic of policies and keeps those in force. From them and from the setting,
`redactions.Redactions` builds the redaction for each tenant and agent.
"""
