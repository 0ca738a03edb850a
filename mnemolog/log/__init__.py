"""The log as this worker uses it: its opening, its encryption and its health.

`connection` opens the log of the settings and creates its topics. `health.LogWatch` checks regularly whether it
answers, and `deadline.RequestDeadlines` ends the requests that wait for a silent one. `sealing` sets up its encryption,
`word_ids` derives ids from words, and `clear_records` finds unencrypted records. `newest_time` reads the time of its
newest record, and `private_files` closes its files to others.
"""
