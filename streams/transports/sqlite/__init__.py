"""TODO streams/transports/sqlite."""
