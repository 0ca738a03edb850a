"""A master key for workers on Kafka, which need one to be given."""

from base64 import b64encode

MASTER_KEY = b64encode(bytes(range(32))).decode()
