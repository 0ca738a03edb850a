"""The log on Kafka: appends are acknowledged by all in-sync replicas, and an idempotent producer avoids repeats.

`log.KafkaLog` appends with one `producer`, which is replaced when it hangs, and reads with a `reader` for each topic,
outside any group; `clients` connects them. `topics` creates topics with the broker's append time and checks their
settings, `group` asks Kafka's coordinator for the workers, `security` returns connection parameters, and `errors`
translates Kafka's errors into those of a log. `transport` connects Faust to Kafka, with
`streams.transports.safe_delivery`.
"""
