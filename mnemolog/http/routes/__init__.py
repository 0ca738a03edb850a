"""The routes, a module for each part of the front door; `http.app` lists the modules.

Each module has a `router` and its functions. A function checks what pydantic cannot, calls a collaborator of the
worker, and turns the result into a response. Bodies and answers are described in `http/models`. Routes share common
answers by import: `publishing.publish_checked`, `memories.command_answer`, `search.result`.

docs/contributing/route.md explains how to add a route.
"""
