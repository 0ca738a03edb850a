"""The log on Kafka: appends are acknowledged by all in-sync replicas, and an idempotent producer avoids repeats.

`log.KafkaLog` appends with one `producer`, replaced when it hangs, and reads with a `reader` for each topic, outside
any group; `clients` connects them. `topics` creates topics with the broker's append time and checks their settings,
`group` asks Kafka's coordinator who the workers are, `security` makes connection parameters, `errors` says what Kafka's
errors mean for a log. `transport` gives Kafka to Faust, with `streams.transports.safe_delivery`. `aiokafka_parts` has
what aiokafka does not document.
"""
