import java.nio.ByteBuffer;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.utils.internals.BufferSupplier;

/** The log cleaner's filter as clients of 4.x have it. */
final class Cleaner {
    private Cleaner() { }

    static void clean(MemoryRecords records, MemoryRecords.RecordFilter filter, ByteBuffer to) {
        records.filterTo(filter, to, BufferSupplier.NO_CACHING, Integer.MAX_VALUE);
    }
}
