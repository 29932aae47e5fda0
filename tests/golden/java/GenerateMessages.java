import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.record.internal.MemoryRecords;

/**
 * Writes messages.txt: one line per message, version and variant, "api kind version variant hex", where hex is the
 * frame without its length. "full" has every field set that the version knows and that a client sends or is sent,
 * "bare" has nulls, empty lists and defaults.
 */
public class GenerateMessages {
    static final int CORRELATION_ID = 0x01020304;
    static final String CLIENT_ID = "golden";
    static final Uuid TOPIC_ID = new Uuid(0x0011223344556677L, 0x8899aabbccddeeffL);

    interface Maker { ApiMessage make(short version); }

    static PrintWriter out;

    static String hex(ApiMessage header, short headerVersion, ApiMessage body, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        int size = header.size(cache, headerVersion) + body.size(cache, version);
        ByteBuffer buffer = ByteBuffer.allocate(size);
        ByteBufferAccessor accessor = new ByteBufferAccessor(buffer);
        header.write(accessor, cache, headerVersion);
        body.write(accessor, cache, version);
        return HexFormat.of().formatHex(buffer.array());
    }

    static void line(ApiKeys api, String kind, int version, String variant, String hex) {
        String name = api.name().toLowerCase();
        out.println(name + " " + kind + " " + version + " " + variant + " " + hex);
    }

    static void requests(ApiKeys api, int first, int last, String variant, Maker maker) {
        for (short v = (short) first; v <= last; v++) {
            RequestHeaderData header = new RequestHeaderData().setRequestApiKey(api.id).setRequestApiVersion(v)
                .setCorrelationId(CORRELATION_ID).setClientId(CLIENT_ID);
            line(api, "request", v, variant, hex(header, api.requestHeaderVersion(v), maker.make(v), v));
        }
    }

    static void responses(ApiKeys api, int first, int last, String variant, Maker maker) {
        for (short v = (short) first; v <= last; v++) {
            ResponseHeaderData header = new ResponseHeaderData().setCorrelationId(CORRELATION_ID);
            line(api, "response", v, variant, hex(header, api.responseHeaderVersion(v), maker.make(v), v));
        }
    }

    static MemoryRecords records(int size) {
        byte[] bytes = new byte[size];
        for (int i = 0; i < size; i++) bytes[i] = (byte) (0xa0 + i);
        return MemoryRecords.readableRecords(ByteBuffer.wrap(bytes));
    }

    static void apiVersions() {
        ApiKeys api = ApiKeys.API_VERSIONS;
        requests(api, 0, 4, "full", v -> new ApiVersionsRequestData().setClientSoftwareName("kafka-mirrord").setClientSoftwareVersion("0.1.0"));
        responses(api, 0, 4, "full", v -> {
            ApiVersionsResponseData data = new ApiVersionsResponseData().setThrottleTimeMs(7).setFinalizedFeaturesEpoch(42).setZkMigrationReady(true);
            data.apiKeys().add(new ApiVersionsResponseData.ApiVersion().setApiKey((short) 1).setMinVersion((short) 4).setMaxVersion((short) 18));
            data.apiKeys().add(new ApiVersionsResponseData.ApiVersion().setApiKey((short) 18).setMinVersion((short) 0).setMaxVersion((short) 5));
            data.supportedFeatures().add(new ApiVersionsResponseData.SupportedFeatureKey().setName("transaction.version").setMinVersion((short) 0).setMaxVersion((short) 2));
            data.finalizedFeatures().add(new ApiVersionsResponseData.FinalizedFeatureKey().setName("transaction.version").setMaxVersionLevel((short) 2).setMinVersionLevel((short) 1));
            return data;
        });
        responses(api, 0, 4, "bare", v -> new ApiVersionsResponseData());
    }

    static void metadata() {
        ApiKeys api = ApiKeys.METADATA;
        requests(api, 4, 13, "full", v -> {
            MetadataRequestData data = new MetadataRequestData().setAllowAutoTopicCreation(false).setIncludeTopicAuthorizedOperations(v >= 8)
                .setIncludeClusterAuthorizedOperations(v >= 8 && v <= 10);
            data.topics().add(new MetadataRequestData.MetadataRequestTopic().setName("orders"));
            if (v >= 12) data.topics().add(new MetadataRequestData.MetadataRequestTopic().setName(null).setTopicId(TOPIC_ID));
            return data;
        });
        requests(api, 4, 13, "bare", v -> new MetadataRequestData().setAllowAutoTopicCreation(false).setTopics(null));
        responses(api, 4, 13, "full", v -> {
            MetadataResponseData data = new MetadataResponseData().setThrottleTimeMs(7).setClusterId("cluster").setControllerId(2);
            data.brokers().add(new MetadataResponseData.MetadataResponseBroker().setNodeId(1).setHost("one.example").setPort(9092).setRack("r1"));
            data.brokers().add(new MetadataResponseData.MetadataResponseBroker().setNodeId(2).setHost("two.example").setPort(9093).setRack(null));
            MetadataResponseData.MetadataResponseTopic topic = new MetadataResponseData.MetadataResponseTopic().setName("orders").setTopicId(TOPIC_ID).setIsInternal(true);
            topic.partitions().add(new MetadataResponseData.MetadataResponsePartition().setErrorCode((short) 9).setPartitionIndex(3).setLeaderId(1).setLeaderEpoch(5)
                .setReplicaNodes(List.of(1, 2)).setIsrNodes(List.of(1)).setOfflineReplicas(List.of(2)));
            if (v >= 8) topic.setTopicAuthorizedOperations(0x508);
            data.topics().add(topic);
            MetadataResponseData.MetadataResponseTopic unknown = new MetadataResponseData.MetadataResponseTopic().setErrorCode((short) 3).setName("gone");
            if (v >= 12) unknown.setErrorCode((short) 100).setName(null).setTopicId(TOPIC_ID);
            data.topics().add(unknown);
            if (v >= 8 && v <= 10) data.setClusterAuthorizedOperations(0x1f8);
            return data.setErrorCode((short) 129);
        });
        responses(api, 4, 13, "bare", v -> new MetadataResponseData());
    }

    static void describeCluster() {
        ApiKeys api = ApiKeys.DESCRIBE_CLUSTER;
        requests(api, 0, 0, "full", v -> new DescribeClusterRequestData().setIncludeClusterAuthorizedOperations(true));
        responses(api, 0, 0, "full", v -> {
            DescribeClusterResponseData data = new DescribeClusterResponseData().setThrottleTimeMs(7).setErrorCode((short) 31).setErrorMessage("no")
                .setClusterId("cluster").setControllerId(2).setClusterAuthorizedOperations(0x1f8);
            data.brokers().add(new DescribeClusterResponseData.DescribeClusterBroker().setBrokerId(1).setHost("one.example").setPort(9092).setRack("r1"));
            data.brokers().add(new DescribeClusterResponseData.DescribeClusterBroker().setBrokerId(2).setHost("two.example").setPort(9093));
            return data;
        });
        responses(api, 0, 0, "bare", v -> new DescribeClusterResponseData());
    }

    static void fetch() {
        ApiKeys api = ApiKeys.FETCH;
        requests(api, 4, 17, "full", v -> {
            FetchRequestData.FetchPartition partition = new FetchRequestData.FetchPartition().setPartition(3).setCurrentLeaderEpoch(5).setFetchOffset(1L << 33)
                .setLogStartOffset(-1).setPartitionMaxBytes(1 << 20);
            if (v >= 12) partition.setLastFetchedEpoch(4);
            FetchRequestData data = new FetchRequestData().setMaxWaitMs(500).setMinBytes(1).setMaxBytes(1 << 25).setIsolationLevel((byte) 1)
                .setSessionId(77).setSessionEpoch(8).setRackId("r1")
                .setTopics(List.of(new FetchRequestData.FetchTopic().setTopic("orders").setTopicId(TOPIC_ID).setPartitions(List.of(partition))));
            if (v >= 7) data.setForgottenTopicsData(List.of(new FetchRequestData.ForgottenTopic().setTopic("orders").setTopicId(TOPIC_ID).setPartitions(List.of(6, 7))));
            return data;
        });
        requests(api, 4, 17, "bare", v -> new FetchRequestData());
        responses(api, 4, 17, "full", v -> {
            FetchResponseData.PartitionData good = new FetchResponseData.PartitionData().setPartitionIndex(3).setHighWatermark(1L << 33)
                .setLastStableOffset(100).setLogStartOffset(10).setRecords(records(9))
                .setAbortedTransactions(List.of(new FetchResponseData.AbortedTransaction().setProducerId(4000).setFirstOffset(55)));
            if (v >= 11) good.setPreferredReadReplica(2);
            FetchResponseData.PartitionData moved = new FetchResponseData.PartitionData().setPartitionIndex(4).setErrorCode((short) 6).setHighWatermark(-1)
                .setAbortedTransactions(null).setRecords(null);
            if (v >= 12) {
                moved.setDivergingEpoch(new FetchResponseData.EpochEndOffset().setEpoch(4).setEndOffset(99));
                moved.setCurrentLeader(new FetchResponseData.LeaderIdAndEpoch().setLeaderId(2).setLeaderEpoch(6));
            }
            FetchResponseData data = new FetchResponseData().setThrottleTimeMs(7).setErrorCode((short) 0)
                .setResponses(List.of(new FetchResponseData.FetchableTopicResponse().setTopic("orders").setTopicId(TOPIC_ID).setPartitions(List.of(good, moved))));
            if (v >= 7) data.setErrorCode((short) 70).setSessionId(77);
            if (v >= 16) {
                data.nodeEndpoints().add(new FetchResponseData.NodeEndpoint().setNodeId(2).setHost("two.example").setPort(9093).setRack("r2"));
            }
            return data;
        });
        responses(api, 4, 17, "bare", v -> new FetchResponseData());
        responses(api, 12, 17, "snapshot", v -> new FetchResponseData().setResponses(List.of(new FetchResponseData.FetchableTopicResponse().setTopic("orders")
            .setTopicId(TOPIC_ID).setPartitions(List.of(new FetchResponseData.PartitionData().setPartitionIndex(3).setHighWatermark(12).setRecords(records(2))
                .setCurrentLeader(new FetchResponseData.LeaderIdAndEpoch().setLeaderId(2).setLeaderEpoch(6))
                .setSnapshotId(new FetchResponseData.SnapshotId().setEndOffset(5).setEpoch(6)))))));
    }

    static void produce() {
        ApiKeys api = ApiKeys.PRODUCE;
        requests(api, 7, 11, "full", v -> {
            ProduceRequestData data = new ProduceRequestData().setTransactionalId("kafka-mirrord-m").setAcks((short) -1).setTimeoutMs(30000);
            data.topicData().add(new ProduceRequestData.TopicProduceData().setName("orders").setPartitionData(List.of(
                new ProduceRequestData.PartitionProduceData().setIndex(3).setRecords(records(9)),
                new ProduceRequestData.PartitionProduceData().setIndex(4).setRecords(records(200)))));
            data.topicData().add(new ProduceRequestData.TopicProduceData().setName("bills").setPartitionData(List.of(
                new ProduceRequestData.PartitionProduceData().setIndex(0).setRecords(null))));
            return data;
        });
        requests(api, 7, 11, "bare", v -> new ProduceRequestData());
        responses(api, 7, 11, "full", v -> {
            ProduceResponseData.PartitionProduceResponse good = new ProduceResponseData.PartitionProduceResponse().setIndex(3).setBaseOffset(1L << 33)
                .setLogAppendTimeMs(1700000000000L).setLogStartOffset(10);
            ProduceResponseData.PartitionProduceResponse bad = new ProduceResponseData.PartitionProduceResponse().setIndex(4).setErrorCode((short) 87).setBaseOffset(-1)
                .setErrorMessage("bad batch").setRecordErrors(List.of(
                    new ProduceResponseData.BatchIndexAndErrorMessage().setBatchIndex(1).setBatchIndexErrorMessage("bad record"),
                    new ProduceResponseData.BatchIndexAndErrorMessage().setBatchIndex(2).setBatchIndexErrorMessage(null)));
            if (v >= 10) bad.setCurrentLeader(new ProduceResponseData.LeaderIdAndEpoch().setLeaderId(2).setLeaderEpoch(6));
            ProduceResponseData data = new ProduceResponseData().setThrottleTimeMs(7);
            data.responses().add(new ProduceResponseData.TopicProduceResponse().setName("orders").setPartitionResponses(List.of(good, bad)));
            if (v >= 10) data.nodeEndpoints().add(new ProduceResponseData.NodeEndpoint().setNodeId(2).setHost("two.example").setPort(9093));
            return data;
        });
        responses(api, 7, 11, "bare", v -> new ProduceResponseData());
    }

    static void offsetForLeaderEpoch() {
        ApiKeys api = ApiKeys.OFFSET_FOR_LEADER_EPOCH;
        requests(api, 2, 4, "full", v -> {
            OffsetForLeaderEpochRequestData data = new OffsetForLeaderEpochRequestData().setReplicaId(-1);
            data.topics().add(new OffsetForLeaderEpochRequestData.OffsetForLeaderTopic().setTopic("orders").setPartitions(List.of(
                new OffsetForLeaderEpochRequestData.OffsetForLeaderPartition().setPartition(3).setCurrentLeaderEpoch(5).setLeaderEpoch(4))));
            return data;
        });
        requests(api, 2, 4, "bare", v -> new OffsetForLeaderEpochRequestData());
        responses(api, 2, 4, "full", v -> {
            OffsetForLeaderEpochResponseData data = new OffsetForLeaderEpochResponseData().setThrottleTimeMs(7);
            data.topics().add(new OffsetForLeaderEpochResponseData.OffsetForLeaderTopicResult().setTopic("orders").setPartitions(List.of(
                new OffsetForLeaderEpochResponseData.EpochEndOffset().setErrorCode((short) 74).setPartition(3).setLeaderEpoch(4).setEndOffset(1L << 33))));
            return data;
        });
        responses(api, 2, 4, "bare", v -> new OffsetForLeaderEpochResponseData());
    }

    static void listOffsets() {
        ApiKeys api = ApiKeys.LIST_OFFSETS;
        requests(api, 2, 8, "full", v -> new ListOffsetsRequestData().setReplicaId(-1).setIsolationLevel((byte) 1).setTopics(List.of(
            new ListOffsetsRequestData.ListOffsetsTopic().setName("orders").setPartitions(List.of(
                new ListOffsetsRequestData.ListOffsetsPartition().setPartitionIndex(3).setCurrentLeaderEpoch(5).setTimestamp(-2))))));
        requests(api, 2, 8, "bare", v -> new ListOffsetsRequestData());
        responses(api, 2, 8, "full", v -> {
            ListOffsetsResponseData.ListOffsetsPartitionResponse partition = new ListOffsetsResponseData.ListOffsetsPartitionResponse().setPartitionIndex(3)
                .setErrorCode((short) 78).setTimestamp(1700000000000L).setOffset(1L << 33);
            if (v >= 4) partition.setLeaderEpoch(5);
            return new ListOffsetsResponseData().setThrottleTimeMs(7).setTopics(List.of(
                new ListOffsetsResponseData.ListOffsetsTopicResponse().setName("orders").setPartitions(List.of(partition))));
        });
        responses(api, 2, 8, "bare", v -> new ListOffsetsResponseData());
    }

    static void deleteRecords() {
        ApiKeys api = ApiKeys.DELETE_RECORDS;
        requests(api, 0, 2, "full", v -> new DeleteRecordsRequestData().setTimeoutMs(30000).setTopics(List.of(
            new DeleteRecordsRequestData.DeleteRecordsTopic().setName("orders").setPartitions(List.of(
                new DeleteRecordsRequestData.DeleteRecordsPartition().setPartitionIndex(3).setOffset(1L << 33))))));
        requests(api, 0, 2, "bare", v -> new DeleteRecordsRequestData());
        responses(api, 0, 2, "full", v -> {
            DeleteRecordsResponseData.DeleteRecordsTopicResult topic = new DeleteRecordsResponseData.DeleteRecordsTopicResult().setName("orders");
            topic.partitions().add(new DeleteRecordsResponseData.DeleteRecordsPartitionResult().setPartitionIndex(3).setLowWatermark(1L << 33).setErrorCode((short) 1));
            DeleteRecordsResponseData data = new DeleteRecordsResponseData().setThrottleTimeMs(7);
            data.topics().add(topic);
            return data;
        });
        responses(api, 0, 2, "bare", v -> new DeleteRecordsResponseData());
    }

    static void initProducerId() {
        ApiKeys api = ApiKeys.INIT_PRODUCER_ID;
        requests(api, 0, 4, "full", v -> {
            InitProducerIdRequestData data = new InitProducerIdRequestData().setTransactionalId("kafka-mirrord-m").setTransactionTimeoutMs(60000);
            return v >= 3 ? data.setProducerId(4000).setProducerEpoch((short) 12) : data;
        });
        requests(api, 0, 4, "bare", v -> new InitProducerIdRequestData().setTransactionalId(null));
        responses(api, 0, 4, "full", v -> new InitProducerIdResponseData().setThrottleTimeMs(7).setErrorCode((short) 14).setProducerId(4000).setProducerEpoch((short) 12));
        responses(api, 0, 4, "bare", v -> new InitProducerIdResponseData());
    }

    static void describeProducers() {
        ApiKeys api = ApiKeys.DESCRIBE_PRODUCERS;
        requests(api, 0, 0, "full", v -> {
            DescribeProducersRequestData data = new DescribeProducersRequestData();
            data.topics().add(new DescribeProducersRequestData.TopicRequest().setName("orders").setPartitionIndexes(List.of(3, 4)));
            return data;
        });
        requests(api, 0, 0, "bare", v -> new DescribeProducersRequestData());
        responses(api, 0, 0, "full", v -> new DescribeProducersResponseData().setThrottleTimeMs(7).setTopics(List.of(
            new DescribeProducersResponseData.TopicResponse().setName("orders").setPartitions(List.of(
                new DescribeProducersResponseData.PartitionResponse().setPartitionIndex(3).setActiveProducers(List.of(
                    new DescribeProducersResponseData.ProducerState().setProducerId(4000).setProducerEpoch(12).setLastSequence(99).setLastTimestamp(1700000000000L)
                        .setCoordinatorEpoch(0).setCurrentTxnStartOffset(55),
                    new DescribeProducersResponseData.ProducerState().setProducerId(4001).setProducerEpoch(1))),
                new DescribeProducersResponseData.PartitionResponse().setPartitionIndex(4).setErrorCode((short) 6).setErrorMessage("moved"))))));
        responses(api, 0, 0, "bare", v -> new DescribeProducersResponseData());
    }

    static void writeTxnMarkers() {
        ApiKeys api = ApiKeys.WRITE_TXN_MARKERS;
        requests(api, 1, 2, "full", v -> new WriteTxnMarkersRequestData().setMarkers(List.of(
            new WriteTxnMarkersRequestData.WritableTxnMarker().setProducerId(4000).setProducerEpoch((short) 12).setTransactionResult(true).setCoordinatorEpoch(3)
                .setTransactionVersion((byte) 2)
                .setTopics(List.of(new WriteTxnMarkersRequestData.WritableTxnMarkerTopic().setName("orders").setPartitionIndexes(List.of(3, 4)))))));
        requests(api, 1, 2, "bare", v -> new WriteTxnMarkersRequestData());
        responses(api, 1, 2, "full", v -> new WriteTxnMarkersResponseData().setMarkers(List.of(
            new WriteTxnMarkersResponseData.WritableTxnMarkerResult().setProducerId(4000).setTopics(List.of(
                new WriteTxnMarkersResponseData.WritableTxnMarkerTopicResult().setName("orders").setPartitions(List.of(
                    new WriteTxnMarkersResponseData.WritableTxnMarkerPartitionResult().setPartitionIndex(3).setErrorCode((short) 52))))))));
        responses(api, 1, 2, "bare", v -> new WriteTxnMarkersResponseData());
    }

    static void incrementalAlterConfigs() {
        ApiKeys api = ApiKeys.INCREMENTAL_ALTER_CONFIGS;
        requests(api, 0, 1, "full", v -> {
            IncrementalAlterConfigsRequestData.AlterConfigsResource resource = new IncrementalAlterConfigsRequestData.AlterConfigsResource()
                .setResourceType((byte) 2).setResourceName("orders");
            resource.configs().add(new IncrementalAlterConfigsRequestData.AlterableConfig().setName("retention.ms").setConfigOperation((byte) 0).setValue("-1"));
            resource.configs().add(new IncrementalAlterConfigsRequestData.AlterableConfig().setName("segment.bytes").setConfigOperation((byte) 1).setValue(null));
            IncrementalAlterConfigsRequestData data = new IncrementalAlterConfigsRequestData().setValidateOnly(true);
            data.resources().add(resource);
            return data;
        });
        requests(api, 0, 1, "bare", v -> new IncrementalAlterConfigsRequestData());
        responses(api, 0, 1, "full", v -> new IncrementalAlterConfigsResponseData().setThrottleTimeMs(7).setResponses(List.of(
            new IncrementalAlterConfigsResponseData.AlterConfigsResourceResponse().setErrorCode((short) 40).setErrorMessage("unknown key")
                .setResourceType((byte) 2).setResourceName("orders"),
            new IncrementalAlterConfigsResponseData.AlterConfigsResourceResponse().setErrorMessage(null).setResourceType((byte) 4).setResourceName("1"))));
        responses(api, 0, 1, "bare", v -> new IncrementalAlterConfigsResponseData());
    }

    static void sasl() {
        requests(ApiKeys.SASL_HANDSHAKE, 1, 1, "full", v -> new SaslHandshakeRequestData().setMechanism("SCRAM-SHA-512"));
        responses(ApiKeys.SASL_HANDSHAKE, 1, 1, "full", v -> new SaslHandshakeResponseData().setErrorCode((short) 33).setMechanisms(List.of("PLAIN", "SCRAM-SHA-256")));
        responses(ApiKeys.SASL_HANDSHAKE, 1, 1, "bare", v -> new SaslHandshakeResponseData());
        byte[] token = "n,,n=user,r=nonce".getBytes();
        requests(ApiKeys.SASL_AUTHENTICATE, 0, 2, "full", v -> new SaslAuthenticateRequestData().setAuthBytes(token));
        requests(ApiKeys.SASL_AUTHENTICATE, 0, 2, "bare", v -> new SaslAuthenticateRequestData());
        responses(ApiKeys.SASL_AUTHENTICATE, 0, 2, "full", v -> new SaslAuthenticateResponseData().setErrorCode((short) 58).setErrorMessage("wrong password")
            .setAuthBytes(token).setSessionLifetimeMs(v >= 1 ? 3600000 : 0));
        responses(ApiKeys.SASL_AUTHENTICATE, 0, 2, "bare", v -> new SaslAuthenticateResponseData().setErrorMessage(null));
    }

    public static void main(String[] args) throws IOException {
        try (PrintWriter writer = new PrintWriter(Files.newBufferedWriter(Path.of(args[0], "messages.txt")))) {
            out = writer;
            apiVersions();
            metadata();
            describeCluster();
            fetch();
            produce();
            offsetForLeaderEpoch();
            listOffsets();
            deleteRecords();
            initProducerId();
            describeProducers();
            writeTxnMarkers();
            incrementalAlterConfigs();
            sasl();
        }
    }
}
