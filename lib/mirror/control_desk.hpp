// Where the requests of operators arrive: request records of kafka-mirror are carried out, and answered by report records.
//
// Requests come one after the other, so that two operators see their wishes recorded in one order. A daemon that is
// started finds requests of before: the young ones are carried out, the rest is erased with its reports. A request for a
// mirror that is not ours is left to the daemon that has it; where none answers, this one says so. Wishes that another
// daemon recorded are handed to the mirror that they concern.
//
// Owned by the daemon's app; ended before the mirrors.
#pragma once

#include "client/tasks.hpp"
#include "core/control_actions.hpp"
#include "mirror/control_items.hpp"
#include "mirror/daemon_context.hpp"
#include "mirror/mirror_manager.hpp"

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace mirrord::mirror {

class control_desk {
 public:
  control_desk(daemon_context context, std::vector<mirror_manager*> mirrors);
  control_desk(const control_desk&) = delete;
  control_desk& operator=(const control_desk&) = delete;

  // Serves what was asked before, and from now on what note() is told.
  void open();

  // From state_store::on_change.
  void note(const state_change& change);

  // Ends what is under way: who asks gets no report, or asks the next daemon.
  asio::awaitable<void> close();

 private:
  struct asked {
    request_key key;
    request_value value;
  };
  struct topic_change;

  asio::awaitable<void> serve();
  asio::awaitable<void> follow(std::string mirror, std::string topic);
  asio::awaitable<void> answer(asked request);
  asio::awaitable<void> answer_for_others(asked request);
  asio::awaitable<void> write_report(request_key request, std::vector<report_item> items);
  asio::awaitable<std::vector<report_item>> change_topics(mirror_manager& mirror, request_value request, core::control_action action);
  asio::awaitable<void> change_topic(topic_change change, std::function<void(report_item)> done);
  asio::awaitable<void> sweep();
  void take(asked request);
  [[nodiscard]] std::vector<report_item> look(const mirror_manager& mirror, const request_value& request, core::control_action action) const;
  [[nodiscard]] std::map<std::string, topic_view> topics_of(const mirror_manager& mirror) const;
  [[nodiscard]] mirror_manager* find_mirror(const std::string& name) const;
  [[nodiscard]] bool is_reported(const request_key& request) const;
  [[nodiscard]] std::chrono::milliseconds age_of(const request_key& key, const request_value& value) const;

  daemon_context context_;
  std::vector<mirror_manager*> mirrors_;  // by name
  std::deque<asked> waiting_;
  std::map<request_key, clock_port::duration> arrived_at_;  // by our clock: the asking machine's may be wrong
  client::notifier arrived_;
  bool closed_ = false;
  client::task_group tasks_;  // last: its tasks use all of the above
};

}  // namespace mirrord::mirror
