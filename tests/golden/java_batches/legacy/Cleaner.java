import java.nio.ByteBuffer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.utils.internals.BufferSupplier;

/** The log cleaner's filter as clients of 3.x have it. */
final class Cleaner {
    private Cleaner() { }

    static void clean(MemoryRecords records, MemoryRecords.RecordFilter filter, ByteBuffer to) {
        records.filterTo(new TopicPartition("topic", 0), filter, to, Integer.MAX_VALUE, BufferSupplier.NO_CACHING);
    }
}
