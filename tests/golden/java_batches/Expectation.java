import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;

/** Prints what Kafka's own reader sees in record bytes, one line per batch, record and marker. */
final class Expectation {
    private Expectation() { }

    static String of(ByteBuffer bytes) {
        StringBuilder out = new StringBuilder();
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(bytes).batches()) {
            batch.ensureValid();
            out.append("batch last=").append(batch.lastOffset())
                .append(" size=").append(batch.sizeInBytes())
                .append(" magic=").append(batch.magic())
                .append(" codec=").append(batch.compressionType().name)
                .append(" append_time=").append(batch.timestampType() == TimestampType.LOG_APPEND_TIME ? 1 : 0)
                .append(" max_timestamp=").append(batch.maxTimestamp());
            if (batch instanceof DefaultRecordBatch) {
                out.append(" base=").append(batch.baseOffset())
                    .append(" base_timestamp=").append(((DefaultRecordBatch) batch).baseTimestamp())
                    .append(" delete_horizon=").append(batch.deleteHorizonMs().orElse(-1))
                    .append(" leader_epoch=").append(batch.partitionLeaderEpoch())
                    .append(" pid=").append(batch.producerId())
                    .append(" producer_epoch=").append(batch.producerEpoch())
                    .append(" sequence=").append(batch.baseSequence())
                    .append(" transactional=").append(batch.isTransactional() ? 1 : 0)
                    .append(" control=").append(batch.isControlBatch() ? 1 : 0)
                    .append(" count=").append(batch.countOrNull());
            }
            out.append('\n');
            for (Record record : batch) {
                if (batch.isControlBatch()) out.append(marker(record)).append('\n');
                out.append("record offset=").append(record.offset())
                    .append(" timestamp=").append(record.timestamp())
                    .append(" key=").append(text(record.key()))
                    .append(" value=").append(text(record.value()))
                    .append(" headers=").append(text(record.headers())).append('\n');
            }
        }
        return out.toString();
    }

    private static String marker(Record record) {
        ControlRecordType type = ControlRecordType.parse(record.key());
        if (type != ControlRecordType.COMMIT && type != ControlRecordType.ABORT) return "marker other -1";
        return "marker " + type.name().toLowerCase() + " " + EndTransactionMarker.deserialize(record).coordinatorEpoch();
    }

    private static String text(Header[] headers) {
        List<String> parts = new ArrayList<>();
        for (Header header : headers) {
            parts.add(text(ByteBuffer.wrap(header.key().getBytes(java.nio.charset.StandardCharsets.UTF_8))) + ":"
                + text(header.value() == null ? null : ByteBuffer.wrap(header.value())));
        }
        return "[" + String.join(",", parts) + "]";
    }

    /** null, the bytes in hex, or for long ones "#length/CRC-32C". */
    private static String text(ByteBuffer bytes) {
        if (bytes == null) return "null";
        if (bytes.remaining() > 64) {
            CRC32C crc = new CRC32C();
            crc.update(bytes.duplicate());
            return String.format("#%d/%08x", bytes.remaining(), crc.getValue());
        }
        StringBuilder hex = new StringBuilder();
        for (ByteBuffer rest = bytes.duplicate(); rest.hasRemaining();) hex.append(String.format("%02x", rest.get()));
        return hex.toString();
    }
}
