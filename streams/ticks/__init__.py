"""Ticks: the worker that holds a partition appends an item to its inbox when something is due.

A tick is an inbox item that says "it is now `as_of`". `scheduler.TickScheduler` appends one tick for each due slot of
decay and retention, including those missed while no worker ran. `wake_scheduler.WakeScheduler` appends a tick when a
reminder or a periodic wake is due. The worker's clock only decides when to check, and nothing is appended while it is
doubted. All effects are computed from the tick's `as_of`, so that a replay of the log ends in the same state.
`streams.agents.remember` applies ticks.
"""
