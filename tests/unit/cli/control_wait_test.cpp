// When a wish counts as fulfilled, and when it cannot be.
#include "cli/control_wait.hpp"

#include <catch2/catch.hpp>

using namespace mirrord;
using namespace mirrord::cli;
using namespace mirrord::mirror;
using core::partition_state;

namespace {

struct records {
  state_view view;
  std::int64_t offset = 0;
  topic_id id;

  records() {
    id.bytes[0] = 7;
    put(mirror_topic_key{"m", id}, {"orders", {}, "c"});
  }

  template <class Key>
  void put(const Key& key, const typename Key::value_type& value) {
    view.apply(encode_key(key), offset++, encode_value(value));
  }

  void stand(std::int32_t partition, partition_state state, std::int32_t epoch, std::int16_t attempt = 0, std::string why = {}) {
    put(partition_state_key{{"m", id, partition}}, {state, 0, epoch, std::move(why), attempt, partition_state::unknown});
  }

  wait_progress progress(partition_state aim, const state_epochs& before = {}, std::int32_t partitions = 2) const {
    return progress_of(view, "m", {{"orders", id, partitions}}, aim, before);
  }
};

}  // namespace

TEST_CASE("a topic is there when all of its partitions are") {
  records r;
  CHECK_FALSE(r.progress(partition_state::paused).is_done());
  r.stand(0, partition_state::paused, 1);
  r.stand(1, partition_state::mirroring, 1);
  auto progress = r.progress(partition_state::paused);
  CHECK_FALSE(progress.is_done());
  CHECK(progress_text(progress, partition_state::paused) == "1 of 2 partitions PAUSED");
  r.stand(1, partition_state::paused, 2);
  CHECK(r.progress(partition_state::paused).is_done());
}

TEST_CASE("a stop is done when the source's own settings are put in place, too") {
  records r;
  r.put(source_config_key{"m", r.id}, {});
  r.stand(0, partition_state::stopped, 1);
  r.stand(1, partition_state::stopped, 1);
  CHECK_FALSE(r.progress(partition_state::stopped).is_done());
  CHECK(progress_text(r.progress(partition_state::stopped), partition_state::stopped) == "2 of 2 partitions STOPPED, settings of 1 topic(s) not put in place yet");
  r.view.apply(encode_key(source_config_key{"m", r.id}), r.offset++, std::nullopt);
  CHECK(r.progress(partition_state::stopped).is_done());
}

TEST_CASE("only a failure that is newer than the request counts") {
  records r;
  r.stand(0, partition_state::failed, 4, -1, "foreign write");
  r.stand(1, partition_state::stopped, 2);
  const state_epochs before = state_epochs_of(r.view, "m");
  CHECK(r.progress(partition_state::stopped, before).failed == 0);
  r.stand(0, partition_state::failed, 5, 1, "no leader");
  CHECK(r.progress(partition_state::stopped, before).failed == 1);
  CHECK(r.progress(partition_state::stopped, before).lost.empty());
  CHECK(r.progress(partition_state::stopped, before).first_failure == "orders-0: no leader");
  CHECK(progress_text(r.progress(partition_state::stopped, before), partition_state::stopped) == "1 of 2 partitions STOPPED, 1 FAILED");
  r.stand(0, partition_state::failed, 6, -1, "foreign write");
  CHECK(r.progress(partition_state::stopped, before).lost == std::vector<std::string>{"orders-0: foreign write"});
}

TEST_CASE("a topic that was never mirrored has nothing to stop, and is waited for where it is to be mirrored") {
  records r;
  for (const auto aim : {partition_state::paused, partition_state::stopped}) CHECK(r.progress(aim, {}, 0).is_done());
  CHECK_FALSE(r.progress(partition_state::mirroring, {}, 0).is_done());
  topic_id other;
  other.bytes[0] = 8;
  CHECK(progress_of(r.view, "m", {{"orders", other, 2}}, partition_state::stopped, {}).is_done());
  CHECK_FALSE(progress_of(r.view, "m", {{"orders", other, 2}}, partition_state::mirroring, {}).is_done());
}
