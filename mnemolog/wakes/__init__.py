"""Wakes: the moments at which an agent is woken, for a reminder or periodically.

A caller requests them with a command (`commands.wakes`); `settings.WakeSettings` does so for the settings of this
worker. The wake scheduler (`streams/ticks`) raises due wakes, and the ledger stores them. `stream.WakeStreams` reports
raised wakes to callers, over all partitions, whichever workers hold them, each as `view` has it.
"""
