"""The console: pages of a browser that show what is remembered, and let a person correct it.

`pages` serves three files, which hold nobody's data. `console.js` asks the routes that every caller has, with the key
that the person gives, so what a key may not see the console does not show. Nothing is built, and nothing is fetched
from elsewhere.
"""
