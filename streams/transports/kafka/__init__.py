"""The log on Kafka: appends are acknowledged by all in-sync replicas, and an idempotent producer avoids repeats.

`log.KafkaLog` appends with one `producer`, which is replaced when it hangs, and reads with a `reader` for each topic,
outside any group; `clients` connects them. `topics` creates topics with the broker's append time and checks their
settings, `restored_topics` fills new topics with the records of an earlier log, `group` asks Kafka's coordinator for
the workers of the group, `security` makes connection parameters, and `errors` translates Kafka's errors into those of a
log. `transport` connects Faust to Kafka, with `streams.transports.safe_delivery`. `aiokafka_parts` has the undocumented
parts of aiokafka that are used here.
"""
