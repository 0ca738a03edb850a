"""Sealing: what the log holds of a user can be read with the user's key alone, and never again without it.

Read in this order:

1. `master_key` wraps the keys of users; `key_files` finds the master keys of an installation, or makes the first.
2. `user_keys` folds `mnemolog.keys`: makes a key for who has none, and destroys those of who is erased.
3. `sealed_record` is the format of one record.
4. `sealed_log` seals what is appended to a log, and opens what is read from it.
"""
