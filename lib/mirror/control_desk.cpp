#include "mirror/control_desk.hpp"

#include "base/log.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <set>

namespace mirrord::mirror {
namespace {

using namespace std::chrono_literals;
using core::control_action;
using core::control_effect;

constexpr auto request_life = 5min;           // nobody waits for an answer any more
constexpr auto others_answer_within = 2s;     // a daemon that has a mirror answers at once
constexpr std::size_t topics_changed_at_once = 64;

bool is_dry_run(const request_value& request) { return std::find(request.flags.begin(), request.flags.end(), core::dry_run_flag) != request.flags.end(); }

std::string done_word(const core::control_decision& decision) {
  if (decision.effect == control_effect::recover) return "tried again";
  switch (decision.wanted) {
    case core::desired_state::mirroring: return "mirrored";
    case core::desired_state::paused: return "paused";
    case core::desired_state::stopped: return "stopped";
  }
  return {};
}

// What the topics of one request share while they are changed.
struct change_batch {
  explicit change_batch(const asio::any_io_executor& executor) : ended(executor) {}
  std::vector<report_item> items;
  std::size_t under_way = 0;
  client::notifier ended;
};

}  // namespace

struct control_desk::topic_change {
  mirror_manager& mirror;
  control_action action;
  bool dry_run;
  std::string asked_by;
  topic_view topic;
};

control_desk::control_desk(daemon_context context, std::vector<mirror_manager*> mirrors)
    : context_(std::move(context)), mirrors_(std::move(mirrors)), arrived_(context_.executor), tasks_(context_.executor) {
  std::sort(mirrors_.begin(), mirrors_.end(), [](const auto* a, const auto* b) { return a->name() < b->name(); });
}

void control_desk::open() {
  for (auto& [key, value] : context_.state.view().list_all<request_key>()) {
    if (age_of(key, value) < request_life && !is_reported(key)) take({std::move(key), std::move(value)});
  }
  tasks_.spawn(serve());
}

// Nothing is acted on from in here: the store is in the middle of its own work.
void control_desk::note(const state_change& change) {
  if (closed_ || !change.value) return;
  if (change.kind == record_kind::desired_state) {
    if (auto key = decode_key<desired_state_key>(change.key)) tasks_.spawn(follow(key->mirror, key->topic));
    return;
  }
  if (change.kind != record_kind::request) return;
  auto key = decode_key<request_key>(change.key);
  auto value = decode_value<request_value>(*change.value);
  if (!key || !value || !*value) return;
  arrived_at_[*key] = context_.clock.now();
  take({std::move(*key), std::move(**value)});
}

void control_desk::take(asked request) {
  if (!request.key.mirror.empty() && !find_mirror(request.key.mirror)) {
    tasks_.spawn(answer_for_others(std::move(request)));
    return;
  }
  waiting_.push_back(std::move(request));
  arrived_.notify();
}

asio::awaitable<void> control_desk::close() {
  closed_ = true;
  tasks_.cancel();
  (void)co_await tasks_.join();
}

asio::awaitable<void> control_desk::serve() {
  co_await asio::post(context_.executor, asio::use_awaitable);
  co_await sweep();
  while (!closed_) {
    while (!waiting_.empty()) {
      asked request = std::move(waiting_.front());
      waiting_.pop_front();
      // Whoever has withdrawn a request has told its operator so.
      if (context_.state.view().find(request.key)) co_await answer(std::move(request));
    }
    co_await sweep();
    if (waiting_.empty()) {
      const bool told = co_await arrived_.wait();
      if (!told) co_return;
    }
  }
}

asio::awaitable<void> control_desk::follow(std::string mirror, std::string topic) {
  co_await asio::post(context_.executor, asio::use_awaitable);
  if (mirror_manager* ours = find_mirror(mirror); ours && !closed_) ours->follow_desired(topic);
}

asio::awaitable<void> control_desk::answer(asked request) {
  const auto action = core::control_action_of(request.value.action);
  log::info("request", {{"action", request.value.action}, {"mirror", request.key.mirror}, {"topics", fmt::format("{}", fmt::join(request.value.topics, ","))},
                        {"asked_by", request.value.asked_by}, {"id", request.key.id}, {"dry_run", is_dry_run(request.value)}});
  mirror_manager* mirror = find_mirror(request.key.mirror);
  std::vector<report_item> items;
  if (!action) {
    items.push_back(failed_item(request.key.mirror, {}, fmt::format("this daemon (version {}) does not know the action '{}'", MIRRORD_VERSION, request.value.action)));
  } else if (core::is_change(*action) && !mirror) {
    items.push_back(failed_item({}, {}, "name the mirror"));
  } else if (core::is_change(*action)) {
    items = co_await change_topics(*mirror, request.value, *action);
  } else {
    for (const mirror_manager* shown : mirrors_) {
      if (mirror && shown != mirror) continue;
      auto more = look(*shown, request.value, *action);
      items.insert(items.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
  }
  if (closed_) co_return;
  co_await write_report(std::move(request.key), std::move(items));
}

// Only where the daemon that has the mirror does not answer, or there is no such mirror.
asio::awaitable<void> control_desk::answer_for_others(asked request) {
  co_await context_.clock.sleep(others_answer_within);
  if (closed_ || !context_.state.view().find(request.key) || is_reported(request.key)) co_return;
  std::set<std::string> names;
  for (const mirror_manager* ours : mirrors_) names.insert(ours->name());
  for (const auto& [key, value] : context_.state.view().list_all<mirror_key>()) names.insert(key.mirror);
  const bool recorded = names.contains(request.key.mirror);
  std::vector<report_item> items;
  items.push_back(failed_item(request.key.mirror, {},
                              recorded ? fmt::format("no running daemon has mirror {} in its YAML file, though there are records of it", request.key.mirror)
                                       : fmt::format("there is no mirror {}; there are: {}", request.key.mirror, fmt::join(names, ", "))));
  co_await write_report(std::move(request.key), std::move(items));
}

asio::awaitable<void> control_desk::write_report(request_key request, std::vector<report_item> items) {
  auto parts = split_report(context_.instance, std::move(items));
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (!context_.state.view().find(request)) co_return;
    report_key key{request.mirror, request.id, static_cast<std::int32_t>(part)};
    auto written = co_await context_.state.write(std::move(key), std::move(parts[part]));
    if (written) continue;
    if (!closed_) log::warn("report_not_written", {{"id", request.id}, {"error", core::explain(written.error(), context_.advice)}});
    co_return;
  }
}

asio::awaitable<std::vector<report_item>> control_desk::change_topics(mirror_manager& mirror, request_value request, control_action action) {
  std::map<std::string, topic_view> topics = topics_of(mirror);
  // A wish outlives what it was for: a topic that is not there, or not any more.
  for (const auto& [recorded, value] : context_.state.view().list<desired_state_key>(mirror.name())) {
    topic_view& topic = topics[recorded.topic];
    topic.topic = recorded.topic;
    topic.desired = mirror.desired_of(recorded.topic);
  }
  std::vector<std::string> known;
  for (const auto& [name, topic] : topics) known.push_back(name);
  meant_topics meant = find_meant_topics(mirror.name(), request, known);
  for (report_item& item : meant.unmatched) {
    if (action != control_action::start || !is_topic_name(item.topic) || mirror.verdict_on(item.topic) == topic_verdict::included) continue;
    item.message = core::decide_control(action, {.included = false}).text;
  }

  const auto batch = std::make_shared<change_batch>(context_.executor);
  batch->items = std::move(meant.unmatched);
  for (const std::string& name : meant.names) {
    while (batch->under_way >= topics_changed_at_once) (void)co_await batch->ended.wait();
    if (closed_) co_return std::vector<report_item>{};
    topic_change change{mirror, action, is_dry_run(request), request.asked_by, std::move(topics[name])};
    ++batch->under_way;
    const auto take_item = [batch](report_item item) {
      batch->items.push_back(std::move(item));
      --batch->under_way;
      batch->ended.notify();
    };
    tasks_.spawn(change_topic(std::move(change), take_item));
  }
  while (batch->under_way > 0 && !closed_) (void)co_await batch->ended.wait();
  co_return std::move(batch->items);
}

asio::awaitable<void> control_desk::change_topic(topic_change change, std::function<void(report_item)> done) {
  const std::string& name = change.topic.topic;
  core::topic_situation situation = situation_of(change.topic);
  situation.included = change.mirror.verdict_on(name) == topic_verdict::included;
  const core::control_decision decision = core::decide_control(change.action, situation);
  report_item item = item_of(change.mirror.name(), change.topic, context_.advice);
  const std::string reason = std::exchange(item.message, std::string(decision.text));
  const bool changes = decision.effect == control_effect::want || decision.effect == control_effect::recover;
  if (decision.effect == control_effect::refuse) {
    item.ok = false;
    if (situation.some_failed && !reason.empty()) item.message += fmt::format(" ({})", reason);
  } else if (changes && change.dry_run) {
    item.message = fmt::format("would be {}", done_word(decision));
  } else if (decision.effect == control_effect::recover) {
    change.mirror.recover(name);
  } else if (changes) {
    std::string topic = name;
    auto recorded = co_await change.mirror.set_desired(std::move(topic), decision.wanted, std::move(change.asked_by));
    item.ok = recorded.has_value();
    if (!recorded) item.message = fmt::format("not recorded: {}", core::explain(recorded.error(), context_.advice));
  }
  done(std::move(item));
}

// What runs, and what is recorded but does not run (yet): right after a start, or without a destination topic.
std::map<std::string, topic_view> control_desk::topics_of(const mirror_manager& mirror) const {
  std::map<std::string, topic_view> topics;
  mirror_view view = mirror.view();
  for (topic_view& topic : view.topics) {
    std::string name = topic.topic;
    topics.emplace(std::move(name), std::move(topic));
  }
  std::map<topic_id, topic_view*> recorded_only;  // by the destination's id; map entries stay where they are
  for (const auto& [key, value] : context_.state.view().list<mirror_topic_key>(mirror.name())) {
    const auto desired = mirror.desired_of(value.topic);
    if (topics.contains(value.topic) || (desired == core::desired_state::mirroring && mirror.verdict_on(value.topic) != topic_verdict::included)) continue;
    topic_view& topic = topics[value.topic];
    topic.topic = value.topic;
    topic.desired = desired;
    recorded_only.emplace(key.destination_topic, &topic);
  }
  if (recorded_only.empty()) return topics;
  for (const auto& [key, recorded] : context_.state.view().list<partition_state_key>(mirror.name())) {
    const auto of = recorded_only.find(key.of.destination_topic);
    if (of == recorded_only.end()) continue;
    partition_view& partition = of->second->partitions[key.of.partition];
    partition.state = recorded.state;
    partition.retry_attempt = recorded.retry_attempt;
    if (!recorded.error_message.empty()) partition.last_error = fail(errc::recorded, recorded.error_message);
  }
  return topics;
}

std::vector<report_item> control_desk::look(const mirror_manager& mirror, const request_value& request, control_action action) const {
  std::map<std::string, topic_view> topics = topics_of(mirror);
  std::vector<std::string> known;
  for (const auto& [name, topic] : topics) known.push_back(name);
  if (action == control_action::list) {
    mirror_view view = mirror.view();
    view.topics.clear();
    for (auto& [name, topic] : topics) view.topics.push_back(std::move(topic));
    const auto& configured = context_.configuration.mirrors;
    const auto settings = std::find_if(configured.begin(), configured.end(), [&](const mirror_settings& m) { return m.name == view.name; });
    if (const auto recorded = context_.state.view().find(mirror_key{view.name}); recorded && view.source_cluster_id.empty()) {
      view.source_cluster_id = recorded->source_cluster_id;
    }
    return {item_of(view, settings == configured.end() ? std::vector<std::string>{} : settings->source.bootstrap_servers, context_.advice)};
  }
  meant_topics meant;
  if (request.topics.empty() && request.exclude.empty()) {
    meant.names = std::move(known);
  } else {
    request_value lists = request;
    if (lists.topics.empty()) lists.topics = {".*"};
    meant = find_meant_topics(mirror.name(), lists, known);
  }
  std::vector<report_item> items = std::move(meant.unmatched);
  for (const std::string& name : meant.names) {
    auto more = partition_items(mirror.name(), topics[name], context_.advice);
    items.insert(items.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return items;
}

mirror_manager* control_desk::find_mirror(const std::string& name) const {
  const auto found = std::find_if(mirrors_.begin(), mirrors_.end(), [&](const mirror_manager* m) { return m->name() == name; });
  return found == mirrors_.end() ? nullptr : *found;
}

bool control_desk::is_reported(const request_key& request) const {
  return context_.state.view().find(report_key{request.mirror, request.id, 0}).has_value();
}

std::chrono::milliseconds control_desk::age_of(const request_key& key, const request_value& value) const {
  const auto arrived = arrived_at_.find(key);
  if (arrived == arrived_at_.end()) return std::chrono::milliseconds(context_.clock.wall_ms() - value.asked_ms);
  return std::chrono::duration_cast<std::chrono::milliseconds>(context_.clock.now() - arrived->second);
}

// What nobody waits for any more.
asio::awaitable<void> control_desk::sweep() {
  std::vector<request_key> old;
  for (const auto& [key, value] : context_.state.view().list_all<request_key>()) {
    if (age_of(key, value) >= request_life) old.push_back(key);
  }
  for (const request_key& key : old) {
    request_key erased = key;
    auto swept = co_await context_.state.erase(std::move(erased));
    if (!swept) co_return;
  }
  for (const auto& [key, value] : context_.state.view().list_all<report_key>()) {
    if (context_.state.view().find(request_key{key.mirror, key.id})) continue;
    report_key erased = key;
    auto swept = co_await context_.state.erase(std::move(erased));
    if (!swept) co_return;
  }
  std::erase_if(arrived_at_, [&](const auto& entry) { return !context_.state.view().find(entry.first); });
}

}  // namespace mirrord::mirror
