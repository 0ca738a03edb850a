"""JSON Lines from files and stdin to the worker, in batches, with progress, and never held as a whole.

`reader` reads files beside the event loop, `event_lines` checks and completes each line, `sender` sends batches and
waits out an outage, `publisher` reports which line was refused and why.
"""
