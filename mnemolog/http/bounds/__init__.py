"""Bounds on requests, each checked before the next part of the request is read.

`connections` bounds the number of connections and the time of a request's head. `paths` refuses requests that no route
answers, before authentication. `bodies` bounds the bytes in memory and the time of a body, `streams` the open streams,
and `json_body` the values in a text, the lines, and the faults reported. `redacted` redacts the texts of a body.
"""
