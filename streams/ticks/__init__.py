"""Ticks: the worker that holds a partition appends to its inbox what time has made due.

A tick is an inbox item that says "it is now `as_of`". `scheduler.TickScheduler` appends each due slot of decay and of
retention once, also those missed while no worker ran. `wake_scheduler.WakeScheduler` appends a tick when a reminder or
a periodic wake is due. The worker's clock only decides when to check, and nothing is appended while it is doubted; what
happens is computed from the tick's `as_of`, so a replay of the log ends in the same state. `streams.agents.remember`
applies ticks.
"""
