"""TODO streams/transports/kafka."""
