"""The log as this worker uses it: how it is opened, and what happens when it is silent.

`connection` opens the log that the settings name and creates its topics. `health.LogWatch` checks regularly whether it
answers, and `deadline.RequestDeadlines` ends the requests that wait for a silent one. `sealing` sets up its encryption,
and `clear_records` finds unencrypted records in it.
"""
