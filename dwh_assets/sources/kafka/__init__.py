"""A Kafka topic as a source: offsets from the broker, events read by Spark, exactly the stored ranges."""
