"""The routes, a module for each part of the front door; `http.app` lists the modules.

Each module has a `router` and the functions below it: one checks what pydantic cannot, calls a collaborator of the
worker, and turns the result into a response. Bodies and answers are described in `http/models`. What several routes
answer alike is shared by import: `publishing.publish_checked`, `memories.command_answer`, `search.result`.
How to add one: docs/contributing/route.md.
"""
