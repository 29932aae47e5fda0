import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.LongPredicate;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;

/**
 * Writes golden record bytes (NAME.bin) and what Kafka's reader sees in them (NAME.txt).
 * "current DIR": magic 2. "legacy DIR": magic 0 and 1 (needs clients before 4.0). "read FILE": prints the latter for a file.
 */
public final class Golden {
    private static final Header[] NO_HEADERS = {};
    private static final long TIME = 1_700_000_000_000L;
    private static Path directory;

    private Golden() { }

    public static void main(String[] args) throws IOException {
        directory = Path.of(args[1]);
        switch (args[0]) {
            case "current": current(); break;
            case "legacy": legacy(); break;
            case "read": System.out.print(Expectation.of(ByteBuffer.wrap(Files.readAllBytes(directory)))); break;
            default: throw new IllegalArgumentException(args[0]);
        }
    }

    private static void current() throws IOException {
        for (CompressionType type : CompressionType.values()) {
            Compression codec = Compression.of(type).build();
            save("mixed_" + type.name, mixed(builder(codec, TimestampType.CREATE_TIME, 5_000_000_000L, false)));
            save("sizes_" + type.name, sizes(builder(codec, TimestampType.CREATE_TIME, 17, false), type == CompressionType.NONE ? 33_000 : 200_000));
            save("append_time_" + type.name, mixed(builder(codec, TimestampType.LOG_APPEND_TIME, 40, false)));
            save("holes_" + type.name, compact(many(builder(codec, TimestampType.CREATE_TIME, 1000, false)), offset -> offset % 7 == 3));
        }
        Compression none = Compression.NONE;
        save("transactional", join(
            mixed(builder(none, TimestampType.CREATE_TIME, 100, true)),
            MemoryRecords.withEndTransactionMarker(109, TIME, 3, 4711, (short) 2, new EndTransactionMarker(ControlRecordType.COMMIT, 7)).buffer(),
            mixed(builder(Compression.of(CompressionType.LZ4).build(), TimestampType.CREATE_TIME, 110, true)),
            MemoryRecords.withEndTransactionMarker(119, TIME, 4, 4711, (short) 3, new EndTransactionMarker(ControlRecordType.ABORT, 8)).buffer(),
            MemoryRecords.withLeaderChangeMessage(120, TIME, 5, ByteBuffer.allocate(1024), new LeaderChangeMessage().setLeaderId(1)).buffer()));
        save("horizon", compact(tombstones(builder(none, TimestampType.CREATE_TIME, 0, false)), offset -> true));
        save("horizon_zstd", compact(tombstones(builder(Compression.of(CompressionType.ZSTD).build(), TimestampType.CREATE_TIME, 0, false)), offset -> true));
        save("empty", join(
            compact(many(builder(none, TimestampType.CREATE_TIME, 300, true)), offset -> false),
            compact(MemoryRecords.withEndTransactionMarker(600, TIME, 3, 4711, (short) 2, new EndTransactionMarker(ControlRecordType.COMMIT, 7)).buffer(), offset -> false),
            compact(many(builder(Compression.of(CompressionType.GZIP).build(), TimestampType.LOG_APPEND_TIME, 601, false)), offset -> false)));
        save("times", times(builder(none, TimestampType.CREATE_TIME, 0, false)));
    }

    private static void legacy() throws IOException {
        for (byte magic = 0; magic < 2; magic++) {
            for (CompressionType type : new CompressionType[] {CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4}) {
                Compression codec = Compression.of(type).build();
                save("magic" + magic + "_" + type.name, join(
                    plain(MemoryRecords.builder(ByteBuffer.allocate(1 << 20), magic, codec, TimestampType.CREATE_TIME, 500L)),
                    plain(MemoryRecords.builder(ByteBuffer.allocate(1 << 20), magic, codec, TimestampType.CREATE_TIME, 508L))));
                save("magic" + magic + "_holes_" + type.name, compact(
                    plain(MemoryRecords.builder(ByteBuffer.allocate(1 << 20), magic, codec, TimestampType.CREATE_TIME, 70L)), offset -> offset % 2 == 1));
                if (magic == 1) {
                    save("magic1_append_time_" + type.name,
                        plain(MemoryRecords.builder(ByteBuffer.allocate(1 << 20), magic, codec, TimestampType.LOG_APPEND_TIME, 900L, TIME + 99_999)));
                }
            }
        }
    }

    private static MemoryRecordsBuilder builder(Compression codec, TimestampType timestampType, long baseOffset, boolean transactional) {
        return new MemoryRecordsBuilder(ByteBuffer.allocate(1 << 20), RecordBatch.MAGIC_VALUE_V2, codec, timestampType, baseOffset,
            timestampType == TimestampType.LOG_APPEND_TIME ? TIME + 77_777 : RecordBatch.NO_TIMESTAMP,
            transactional ? 4711 : RecordBatch.NO_PRODUCER_ID, (short) (transactional ? 2 : RecordBatch.NO_PRODUCER_EPOCH),
            transactional ? 30 : RecordBatch.NO_SEQUENCE, transactional, false, 6, 1 << 20);
    }

    /** Everything that is easily lost: nulls, empties, order and repetition of headers, times that go back. */
    private static ByteBuffer mixed(MemoryRecordsBuilder builder) {
        builder.append(TIME, utf8("key"), utf8("value"), NO_HEADERS);
        builder.append(TIME - 5_000, null, utf8("no key"), NO_HEADERS);
        builder.append(TIME + 1, utf8("tombstone"), null, NO_HEADERS);
        builder.append(TIME, utf8(""), utf8(""), NO_HEADERS);
        builder.append(TIME, (byte[]) null, (byte[]) null, NO_HEADERS);
        builder.append(TIME + 7_000_000_000L, utf8("k"), utf8("v"), new Header[] {
            new RecordHeader("b", utf8("1")), new RecordHeader("a", (byte[]) null), new RecordHeader("b", utf8("")),
            new RecordHeader("", utf8("no name")), new RecordHeader("b", utf8("2"))});
        builder.append(0, utf8("old"), utf8("grüße"), new Header[] {new RecordHeader("ü", utf8("ö"))});
        builder.append(RecordBatch.NO_TIMESTAMP, utf8("no time"), utf8("x"), NO_HEADERS);
        return builder.build().buffer();
    }

    private static ByteBuffer sizes(MemoryRecordsBuilder builder, int largest) {
        for (int size : new int[] {0, 10, 63, 64, 65, 8191, 8192, 31_000, 33_000, 200_000}) {
            if (size <= largest) builder.append(TIME + size, utf8("" + size), pattern(size), NO_HEADERS);
        }
        return builder.build().buffer();
    }

    private static ByteBuffer many(MemoryRecordsBuilder builder) {
        for (int i = 0; i < 300; i++) builder.append(TIME + 40L * i * i, utf8("key " + i), pattern(i % 50), NO_HEADERS);
        return builder.build().buffer();
    }

    private static ByteBuffer tombstones(MemoryRecordsBuilder builder) {
        for (int i = 0; i < 5; i++) builder.append(TIME + 1000L * i, utf8("key " + i), i % 2 == 0 ? null : utf8("v"), NO_HEADERS);
        return builder.build().buffer();
    }

    private static ByteBuffer times(MemoryRecordsBuilder builder) {
        for (long time : new long[] {0, Long.MAX_VALUE, RecordBatch.NO_TIMESTAMP, 1}) builder.append(time, utf8("t"), utf8(Long.toString(time)), NO_HEADERS);
        return builder.build().buffer();
    }

    /** What the formats before magic 2 can say: no headers. */
    private static ByteBuffer plain(MemoryRecordsBuilder builder) {
        boolean timed = builder.magic() > 0;
        for (int i = 0; i < 8; i++) {
            builder.append(timed ? TIME + 10 * (i - 3) : RecordBatch.NO_TIMESTAMP, i == 2 ? null : utf8(i == 3 ? "" : "key " + i),
                i == 4 ? null : i == 5 ? utf8("") : pattern(i == 6 ? 40_000 : 20 * i), NO_HEADERS);
        }
        return builder.build().buffer();
    }

    /** What Kafka's log cleaner leaves: the kept records, and a delete horizon where there are tombstones. */
    private static ByteBuffer compact(ByteBuffer bytes, LongPredicate keep) {
        ByteBuffer compacted = ByteBuffer.allocate(1 << 20);
        Cleaner.clean(MemoryRecords.readableRecords(bytes), new MemoryRecords.RecordFilter(TIME + 1_000_000, 86_400_000) {
            @Override
            protected BatchRetentionResult checkBatchRetention(RecordBatch batch) {
                return new BatchRetentionResult(
                    batch.magic() < RecordBatch.MAGIC_VALUE_V2 ? BatchRetention.DELETE_EMPTY : BatchRetention.RETAIN_EMPTY, false);
            }

            @Override
            protected boolean shouldRetainRecord(RecordBatch batch, Record record) {
                return keep.test(record.offset());
            }
        }, compacted);
        compacted.flip();
        return compacted;
    }

    private static ByteBuffer join(ByteBuffer... parts) {
        ByteBuffer joined = ByteBuffer.allocate(1 << 21);
        for (ByteBuffer part : parts) joined.put(part.duplicate());
        joined.flip();
        return joined;
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] pattern(int size) {
        byte[] bytes = new byte[size];
        for (int i = 0; i < size; i++) bytes[i] = (byte) ((i >> 8) * 31 + i % 61);
        return bytes;
    }

    private static void save(String name, ByteBuffer bytes) throws IOException {
        byte[] copy = new byte[bytes.remaining()];
        bytes.duplicate().get(copy);
        Files.write(directory.resolve(name + ".bin"), copy);
        Files.writeString(directory.resolve(name + ".txt"), Expectation.of(ByteBuffer.wrap(copy)));
    }
}
