// What --verify shows: the result as text and as JSON, and the progress while it works.
#include "cli/progress_line.hpp"
#include "cli/verify_report.hpp"

#include <catch2/catch.hpp>

using namespace mirrord;
using namespace mirrord::cli;
using namespace std::chrono_literals;

namespace {

mirror::verified_topic topic_of(const std::string& name, std::int32_t partitions, std::int64_t offsets) {
  mirror::verified_topic topic;
  topic.name = name;
  topic.source_partitions = topic.destination_partitions = partitions;
  for (std::int32_t i = 0; i < partitions; ++i) {
    mirror::verified_partition partition;
    partition.tp = {name, i};
    partition.end = partition.compared = offsets;
    topic.partitions.push_back(std::move(partition));
  }
  return topic;
}

void add_difference(mirror::verified_partition& partition, std::int64_t offset) {
  ++partition.difference_count;
  partition.differences.push_back({offset, core::difference_kind::value, "\"a\"", "\"b\""});
}

mirror::verify_progress at(std::int64_t compared, std::int64_t bytes) {
  mirror::verify_progress p;
  p.compared = compared;
  p.total = 1000;
  p.bytes = bytes;
  p.partitions = 4;
  p.partitions_done = 1;
  return p;
}

}  // namespace

TEST_CASE("equal topics, behind or not") {
  std::vector topics = {topic_of("a", 3, 10), topic_of("b", 1, 1)};
  CHECK(verify_text(topics) == "a: 3 partitions, 30 offsets compared, equal\nb: 1 partition, 1 offset compared, equal\n");
  topics[0].partitions[1].behind = 4;
  topics[1].partitions[0].start_behind = 1;
  CHECK(verify_text(topics) == "a: 3 partitions, 30 offsets compared, equal, behind by 4\nb: 1 partition, 1 offset compared, equal, 1 older offset not removed yet\n");
  CHECK(all_equal(topics));
}

TEST_CASE("differences are told after the topics") {
  std::vector topics = {topic_of("a", 2, 10), topic_of("b", 1, 10)};
  add_difference(topics[0].partitions[1], 7);
  CHECK(verify_text(topics) ==
        "a: 2 partitions, 20 offsets compared, 1 DIFFERENCE\n"
        "b: 1 partition, 10 offsets compared, equal\n"
        "\n"
        "Differences:\n"
        "  a-1 offset 7: value: source \"a\" | destination \"b\"\n");
  CHECK_FALSE(all_equal(topics));
}

TEST_CASE("only the first twenty differences are told") {
  std::vector topics = {topic_of("a", 2, 100)};
  for (int i = 0; i < 15; ++i) add_difference(topics[0].partitions[0], i);
  for (int i = 0; i < 15; ++i) add_difference(topics[0].partitions[1], i);
  const auto text = verify_text(topics);
  CHECK_THAT(text, Catch::Contains("30 DIFFERENCES\n\nThe first differences:\n") && Catch::Contains("a-1 offset 4:") && !Catch::Contains("a-1 offset 5:"));
}

TEST_CASE("what could not be compared is not equal") {
  std::vector topics = {topic_of("a", 1, 10)};
  topics[0].partitions[0].compared = 4;
  topics[0].partitions[0].failure = fail(errc::unreachable, "source: broker 1");
  CHECK(verify_text(topics) == "a: 1 partition, 4 offsets compared, NOT ALL COMPARED\n  a-0 NOT COMPARED beyond offset 4: source: broker 1\n");
  CHECK_FALSE(all_equal(topics));
  mirror::verified_topic missing;
  missing.name = "b";
  missing.failure = fail(errc::not_found, "topic b does not exist");
  CHECK(verify_text({missing}) == "b: NOT COMPARED: topic b does not exist\n");
  CHECK_FALSE(all_equal({missing}));
}

TEST_CASE("other numbers of partitions") {
  std::vector topics = {topic_of("a", 1, 10)};
  topics[0].source_partitions = 2;
  CHECK(verify_text(topics) == "a: 1 partition, 10 offsets compared, 1 DIFFERENCE\n\nDifferences:\n  a: the source has 2 partitions, the destination 1\n");
  CHECK_FALSE(all_equal(topics));
}

TEST_CASE("the JSON document") {
  std::vector topics = {topic_of("a", 1, 10)};
  add_difference(topics[0].partitions[0], 7);
  CHECK(verify_json(topics) ==
        R"({"equal":false,"topics":[{"topic":"a","sourcePartitions":1,"destinationPartitions":1,"compared":10,"behind":0,"differenceCount":1,)"
        R"("partitions":[{"partition":0,"start":0,"end":10,"compared":10,"behind":0,"startBehind":0,"differenceCount":1,)"
        R"("differences":[{"offset":7,"kind":"value","source":"\"a\"","destination":"\"b\""}],"error":null}],"error":null}]})");
}

TEST_CASE("without a terminal there is a line every ten seconds") {
  const progress_line::clock::time_point began{};
  progress_line line(false, began);
  CHECK(line.update({}, began + 4s).empty());
  CHECK(line.update(at(0, 0), began + 5s).empty());
  CHECK(line.update(at(250, 25'000'000), began + 10s) == "kafka-mirror: 250 of 1000 offsets (25 %), 1 of 4 partitions, 5.0 MB/s, 15 s left\n");
  CHECK(line.update(at(300, 1), began + 11s).empty());
  auto stuck = at(250, 50'000'000);
  stuck.trouble = "source: broker 1 is away";
  CHECK_THAT(line.update(stuck, began + 30s), Catch::EndsWith("; waiting: source: broker 1 is away\n"));
  CHECK(line.finish().empty());
}

TEST_CASE("on a terminal the bar redraws itself") {
  const progress_line::clock::time_point began{};
  progress_line line(true, began);
  CHECK(line.update({}, began) == "\r\x1b[Klooking for the topics");
  CHECK_THAT(line.update(at(0, 0), began), Catch::StartsWith("\r\x1b[K[........................] 0 of 1000"));
  CHECK_THAT(line.update(at(500, 10'000'000), began + 2s), Catch::StartsWith("\r\x1b[K[############............] 500 of 1000 offsets (50 %)") && Catch::EndsWith("5.0 MB/s, 2 s left"));
  CHECK_THAT(line.update(at(1000, 20'000'000), began + 4s), Catch::StartsWith("\r\x1b[K[########################] 1000"));
  CHECK(line.finish() == "\r\x1b[K");
}
