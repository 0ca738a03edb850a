"""Sealing: encryption of the log, so that destroying a user's key erases the user.

Read in this order:

1. `master_key` wraps the users' data keys; `key_files` reads an installation's master keys, or creates the first one.
2. `user_keys` folds `mnemolog.keys` into the `key_ring`: it creates a data key for each new user, and destroys those of
   erased users.
3. `sealed_record` is the format of one encrypted record.
4. `sealed_log` encrypts records when they are appended to a log, and decrypts them when they are read.
5. `replacements`, on Kafka: the remaining parts of a user's records after the erasure of one memory.
"""
