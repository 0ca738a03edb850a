"""Wakes: the moments at which an agent is woken, for a reminder or periodically.

A caller that wants them sends a command (`commands.wakes`); `settings.WakeSettings` does so for the settings of this
worker. The wake scheduler (`streams/ticks`) raises what is due, and the ledger keeps it. `stream.WakeStreams` reports
raised wakes to callers, over all partitions, whichever workers have them.
"""
