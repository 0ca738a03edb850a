"""Bounds on requests, each checked before the next part of the request is read.

`connections` bounds how many there are and how long a request's head may take. `paths` refuses what no route answers,
before authentication; `bodies` bounds the bytes in memory and how long a body may take; `streams` the streams that are
open; `json_body` how many values a text holds, how many lines, and how many faults are reported. `origin` refuses what
a browser may have been tricked into sending.
"""
