#include "io/saver.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "io/checkpoint_folder.hpp"
#include "io/leftovers.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/log.hpp"

namespace sherd::io {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string joined(const std::map<std::string, std::string>& texts) {
  std::string all;
  for (const auto& [key, text] : texts) {
    all += fmt::format("{} {}\n{}\n", key, text.size(), text);
  }
  return all;
}

std::string plan_signature(const dtensor::StateDict& state) {
  std::string text = structure_signature(state);
  for (const auto& [key, capacity] : capacities_for(state.common)) {
    text += fmt::format("\n{} {}", key, capacity);
  }
  return text;
}

}  // namespace

/// What the ranks tell each other at the start of a save. Numbers that must be equal travel with
/// their negatives, so that one maximum shows both bounds.
struct Saver::Consensus {
  enum Field : std::size_t { invalid, busy, undelivered, changed, step, names, common, count };
  std::array<std::int64_t, 2 * count> values{};

  void set(Field field, std::int64_t value) {
    values[field] = value;
    values[count + field] = -value;
  }
  bool any(Field field) const { return values[field] != 0; }
  bool equal(Field field) const { return values[field] == -values[count + field]; }
};

Saver::Saver(const Ranks& ranks, const CheckpointerOptions& options, std::shared_ptr<FileSystem> fs)
    : ranks_(ranks), options_(options), fs_(std::move(fs)) {}

Saver::~Saver() {
  finish();
  if (const std::exception_ptr error = last_ ? last_->take_undelivered() : nullptr) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& exception) {
      log::error(fmt::format("checkpoint of step {} failed: {}", last_->step, exception.what()));
    }
  }
}

void Saver::finish() {
  if (worker_.joinable()) {
    worker_.join();
  }
}

void Saver::poll() {
  if (const std::exception_ptr error = last_ ? last_->take_undelivered() : nullptr) {
    std::rethrow_exception(error);
  }
}

SaveTicket Saver::save(std::int64_t step, const dtensor::StateDict& state) {
  const Clock::time_point start = Clock::now();
  if (options_.when_busy == WhenBusy::wait) {
    finish();
  }
  const Consensus consensus = consult(step, state);
  if (consensus.any(Consensus::busy)) {
    if (options_.when_busy == WhenBusy::skip) {
      return {};
    }
    throw IoError(
        fmt::format("checkpoint of step {}: the one of step {} is still being written. "
                    "Try: when_busy wait or skip, or a longer interval",
                    step, last_->step));
  }
  finish();
  if (consensus.any(Consensus::undelivered)) {
    deliver_earlier_failure();
  }
  if (consensus.any(Consensus::changed)) {
    renew_plan(state);
  }
  SaveJob::Settings settings = begin(step);
  stage(plan_->layout, plan_->staging, ranks_.rank(), state, staging_.data());
  last_ = std::make_shared<SaveTicket::Impl>(step);
  last_->advance(SavePhase::staged);
  last_->stall_seconds = seconds_since(start);
  launch(std::move(settings), state);
  return SaveTicket(last_);
}

Saver::Consensus Saver::consult(std::int64_t step, const dtensor::StateDict& state) {
  std::exception_ptr problem;
  try {
    expect(step >= 0, "a checkpoint's step is negative");
    check_state(state);
  } catch (const ArgumentError&) {
    problem = std::current_exception();
  }
  Consensus consensus;
  consensus.set(Consensus::invalid, problem != nullptr);
  consensus.set(Consensus::busy, last_ != nullptr && !last_->finished());
  consensus.set(Consensus::undelivered, last_ != nullptr && last_->has_undelivered());
  consensus.set(Consensus::changed, plan_signature(state) != signature_);
  consensus.set(Consensus::step, step);
  consensus.set(Consensus::names, text_hash(shared_signature(state)));
  consensus.set(Consensus::common, text_hash(joined(state.common)));
  max_over_ranks(ranks_, consensus.values);
  if (consensus.any(Consensus::invalid)) {
    all_or_none(ranks_, [&] {
      if (problem != nullptr) {
        std::rethrow_exception(problem);
      }
    });
  }
  expect(consensus.equal(Consensus::step), "ranks save different steps");
  expect(consensus.equal(Consensus::names),
         "ranks save states of different structure (names, shapes and dtypes of tensors and names "
         "of per_rank and common entries must be equal)");
  expect(consensus.equal(Consensus::common),
         "ranks save different common texts (only one can be stored). Try: per_rank");
  return consensus;
}

void Saver::deliver_earlier_failure() {
  if (const std::exception_ptr error = last_->take_undelivered()) {
    std::rethrow_exception(error);
  }
  throw IoError(
      fmt::format("the checkpoint of step {} failed, as reported here before, and another "
                  "rank has only now learnt it",
                  last_->step));
}

void Saver::renew_plan(const dtensor::StateDict& state) {
  signature_.clear();
  plan_ = make_save_plan(ranks_, options_.directory, state);
  all_or_none(ranks_, [&] { staging_.reserve(plan_->staging.bytes); });
  staging_.clear();
  signature_ = plan_signature(state);
}

SaveJob::Settings Saver::begin(std::int64_t step) {
  std::string uuid = ranks_.rank() == 0 ? make_uuid() : "";
  broadcast_text(ranks_, uuid);
  const std::filesystem::path folder = options_.directory / in_flight_name({step, uuid});
  all_or_none(ranks_, [&] {
    if (ranks_.rank() == 0) {
      clean_leftovers();
      leftovers_ = true;  // until all of the folder is there
      open_in_flight(*fs_, options_.directory, {step, uuid}, options_.overwrite);
    }
  });
  leftovers_ = false;
  return {options_.directory,
          folder,
          uuid,
          ranks_.rank(),
          Retention{options_.keep_last, options_.keep_every},
          std::chrono::duration<double>(options_.commit_timeout_seconds)};
}

void Saver::clean_leftovers() {
  const bool failed = last_ != nullptr && SaveTicket(last_).phase() == SavePhase::failed;
  if (leftovers_ || failed) {
    for (const std::string& note : clean_up(*fs_, options_.directory)) {
      log::warning("checkpoints: " + note);
    }
  }
}

void Saver::launch(SaveJob::Settings settings, const dtensor::StateDict& state) {
  auto job = std::make_unique<SaveJob>(std::move(settings), plan_, staging_.data(), fs_, last_);
  if (ranks_.rank() == 0) {
    job->set_index(index_image(plan_->index, last_->step, state.common), state.common);
  }
  worker_ = std::thread([job = std::move(job)] { job->run(); });
}

}  // namespace sherd::io
