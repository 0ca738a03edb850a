"""Messages: what travels on the topics, as frozen values in closed unions.

`envelope` is part of every message. `observations` are the input events; `inbox` is what remember decides on:
candidates, commands and ticks; `decision` is the ledger's one record and `events` are what it carries. `wakes` has the
commands and events about wakes and reminders, `dead_letters` what could not be handled.
"""
