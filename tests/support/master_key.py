"""A master key for workers on Kafka, where one has to be said."""

from base64 import b64encode

MASTER_KEY = b64encode(bytes(range(32))).decode()
