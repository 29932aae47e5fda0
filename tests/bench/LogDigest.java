import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteBufferDeserializer;

/**
 * Reads whole partitions with Kafka's own consumer and boils each one down to a line that can be compared:
 *
 *   ISOLATION PARTITION START END RECORDS POSITIONED CONTENT
 *
 * POSITIONED is a CRC-32C over offset, timestamp, key, value and headers of all records in their order; CONTENT is the
 * same without the offsets, for mirrors that do not keep them. END is the log end offset, or the last stable offset for
 * read_committed. The consumer verifies the batches' own checksums on the way.
 *
 * Usage: java -cp CLASSPATH LogDigest.java BOOTSTRAP TOPIC ISOLATION...
 */
public final class LogDigest {
    private static final Duration POLL = Duration.ofMillis(200);
    private static final long SILENCE_MS = 60_000;

    private static final class Digest {
        final CRC32C positioned = new CRC32C();
        final CRC32C content = new CRC32C();
        long records;
    }

    private final CRC32C record = new CRC32C();
    private final ByteBuffer number = ByteBuffer.allocate(Long.BYTES);

    private void add(CRC32C crc, long value) {
        crc.update(number.clear().putLong(value).flip());
    }

    // Null and empty are different things, and so are ("a", "b") and ("ab", "").
    private void add(CRC32C crc, ByteBuffer bytes) {
        add(crc, bytes == null ? -1 : bytes.remaining());
        if (bytes != null) {
            crc.update(bytes.duplicate());
        }
    }

    private void add(Digest digest, ConsumerRecord<ByteBuffer, ByteBuffer> read) {
        record.reset();
        add(record, read.timestamp());
        add(record, read.key());
        add(record, read.value());
        for (Header header : read.headers()) {
            add(record, ByteBuffer.wrap(header.key().getBytes(java.nio.charset.StandardCharsets.UTF_8)));
            add(record, header.value() == null ? null : ByteBuffer.wrap(header.value()));
        }
        add(digest.content, record.getValue());
        add(digest.positioned, read.offset());
        add(digest.positioned, record.getValue());
        ++digest.records;
    }

    private void print(String bootstrap, String topic, String isolation) {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", bootstrap,
            "isolation.level", isolation,
            "enable.auto.commit", false,
            "auto.offset.reset", "none",
            "check.crcs", true,
            "max.poll.records", 20_000,
            "max.partition.fetch.bytes", 4 << 20,
            "receive.buffer.bytes", 1 << 20);
        var deserializer = new ByteBufferDeserializer();
        try (var consumer = new KafkaConsumer<>(settings, deserializer, deserializer)) {
            List<TopicPartition> partitions =
                consumer.partitionsFor(topic).stream().map(p -> new TopicPartition(topic, p.partition())).toList();
            consumer.assign(partitions);
            Map<TopicPartition, Long> starts = consumer.beginningOffsets(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            Map<TopicPartition, Digest> digests = new HashMap<>();
            for (TopicPartition partition : partitions) {
                digests.put(partition, new Digest());
                consumer.seek(partition, starts.get(partition));
            }
            long heard = System.nanoTime();
            while (!partitions.stream().allMatch(p -> consumer.position(p) >= ends.get(p))) {
                var records = consumer.poll(POLL);
                if (!records.isEmpty()) {
                    heard = System.nanoTime();
                } else if (System.nanoTime() - heard > SILENCE_MS * 1_000_000) {
                    throw new IllegalStateException(topic + ": nothing to read for " + SILENCE_MS / 1000 + " s, before the end is reached");
                }
                for (TopicPartition partition : records.partitions()) {
                    Digest digest = digests.get(partition);
                    for (var read : records.records(partition)) {
                        // What was written after the ends were asked for is not part of the answer.
                        if (read.offset() < ends.get(partition)) {
                            add(digest, read);
                        }
                    }
                }
            }
            for (TopicPartition partition : partitions) {
                Digest digest = digests.get(partition);
                System.out.printf("%s %d %d %d %d %08x %08x%n", isolation, partition.partition(), starts.get(partition), ends.get(partition),
                    digest.records, digest.positioned.getValue(), digest.content.getValue());
            }
        }
    }

    public static void main(String[] arguments) {
        var digest = new LogDigest();
        for (String isolation : List.of(arguments).subList(2, arguments.length)) {
            digest.print(arguments[0], arguments[1], isolation);
        }
    }
}
