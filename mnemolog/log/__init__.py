"""The log as this worker uses it: how it is opened, and what happens when it is silent.

`connection` opens the log that the settings name and creates its topics. `health.LogWatch` asks again and again whether
it answers, and `deadline.RequestDeadlines` ends the requests that wait for one that does not.
`sealing` makes what seals it, and `clear_records` finds what lies in it unencrypted.
"""
