"""JSON Lines from files and stdin to the worker, in batches, with progress, without loading a whole file.

`reader` reads files off the event loop, `event_lines` checks and completes each line, `sender` sends batches and waits
out an outage, `publisher` reports refused lines and the reasons.
"""
