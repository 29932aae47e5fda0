// What kafka-mirror prints, line by line.
#include "cli/control_text.hpp"

#include <catch2/catch.hpp>

using namespace mirrord;
using namespace mirrord::cli;
using core::control_action;
using mirror::report_item;

namespace {

report_item partition(std::string topic, std::int32_t number, std::string state, std::int64_t source_end, std::int64_t destination_end) {
  report_item item;
  item.mirror = "m";
  item.topic = std::move(topic);
  item.partition = number;
  item.state = std::move(state);
  item.source_end = source_end;
  item.destination_end = destination_end;
  return item;
}

report_item failed(std::string topic, std::string message) {
  report_item item;
  item.mirror = "m";
  item.topic = std::move(topic);
  item.ok = false;
  item.message = std::move(message);
  return item;
}

}  // namespace

TEST_CASE("actions are told in the KIP's words") {
  CHECK(action_line(control_action::stop, "m", {"a", "b", "c"}, true) == "Stopped 3 topic(s) in mirror m: [a, b, c]\n");
  CHECK(action_line(control_action::stop, "m", {"a"}, false) == "Stopping 1 topic(s) in mirror m: [a]\n");
  CHECK(action_line(control_action::pause, "m", {"a"}, true) == "Paused 1 topic(s) in mirror m: [a]\n");
  CHECK(action_line(control_action::resume, "m", {"a"}, true) == "Resumed 1 topic(s) in mirror m: [a]\n");
  CHECK(action_line(control_action::start, "m", {"a"}, true) == "Started 1 topic(s) in mirror m: [a]\n");
  CHECK(action_line(control_action::recover, "m", {"a"}, false) == "Recovering 1 topic(s) in mirror m: [a]\n");
}

TEST_CASE("failures stand one in a line") {
  CHECK(failures_text({failed("a", "is paused"), failed("", "there is no\nmirror"), partition("b", 0, "PAUSED", 1, 1)}) == "a: is paused\nthere is no mirror\n");
}

TEST_CASE("describe is a table; names keep their right end") {
  CHECK(describe_text({}) == "No mirror partitions found\n");
  CHECK(describe_text({failed("a", "no such topic")}) == "No mirror partitions found\n");
  const std::string text = describe_text({partition("orders", 0, "MIRRORING", 12, 10), partition(std::string(30, 'a') + std::string(30, 'b'), 11, "PREPARING", -1, -1),
                                          partition("over", 1, "STOPPED", 5, 7)});
  CHECK(text ==
        "MIRROR                         TOPIC                                    PARTITION  SOURCE-OFFSET   DESTINATION-OFFSET LAG        STATE\n"
        "m                              orders                                   0          12              10                 2          MIRRORING\n"
        "m                              ...aaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbb 11         -               -                  -          PREPARING\n"
        "m                              over                                     1          5               7                  -          STOPPED\n");
}

TEST_CASE("failed partitions are a table with retries and the error's beginning") {
  CHECK(failed_text({}) == "No failed partitions found\n");
  auto passing = partition("orders", 0, "FAILED", 1, 1);
  passing.retry_attempt = 3;
  passing.message = std::string(100, 'e');
  auto lost = partition("orders", 1, "FAILED", 1, 1);
  lost.retry_attempt = -1;
  lost.message = "why\nand more";
  CHECK(failed_text(only_failed({passing, lost, partition("orders", 2, "PAUSED", 1, 1)})) ==
        "MIRROR                         TOPIC                                    PARTITION  RETRY        ERROR\n"
        "m                              orders                                   0          3            " + std::string(77, 'e') + "...\n"
        "m                              orders                                   1          NonRetryable why and more\n");
}

TEST_CASE("list is a table of mirrors") {
  CHECK(list_text({}) == "No mirrors found\n");
  report_item item;
  item.mirror = "m";
  item.details = {{"topics", "3"}, {"source.cluster.id", ""}, {"source.bootstrap.servers", "a:1,b:2"}};
  CHECK(list_text({item}) ==
        "MIRROR                         TOPICS     SOURCE-CLUSTER-ID          SOURCE-BOOTSTRAP-SERVER\n"
        "m                              3          -                          a:1,b:2\n");
  CHECK(list_json({item}) == R"([{"mirror":"m","topics":3,"sourceClusterId":"","sourceBootstrapServers":"a:1,b:2","state":"","errorMessage":""}])");
}

TEST_CASE("JSON is one line") {
  CHECK(describe_json({}) == "[]");
  CHECK(describe_json({partition("t", 1, "MIRRORING", 9, 4)}) ==
        R"([{"mirror":"m","topic":"t","partition":1,"sourceOffset":9,"destinationOffset":4,"lag":5,"state":"MIRRORING","retryAttempt":0,"errorMessage":""}])");
  CHECK(action_json({failed("t", "no")}) == R"([{"mirror":"m","topic":"t","ok":false,"state":"","message":"no"}])");
}
