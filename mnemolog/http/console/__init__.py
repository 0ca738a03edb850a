"""The console: web pages that show memories and let a person correct them.

`pages` serves three files, which contain no data. `console.js` calls the routes that all callers use, with the key that
the person enters, so the console shows nothing that the key may not see. There is no build step, and nothing is fetched
from other hosts.
"""
