#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <functional>

#include "plan/format.hpp"
#include "sherd/base/check.hpp"
#include "sherd/plan/plan.hpp"

namespace sherd::plan {
namespace {

/// A change that makes a run smaller, as the command line says it.
struct Remedy {
  std::string text;
  std::function<bool(PlanSubject&)> apply;  ///< false: it is so already
};

const std::vector<Remedy>& remedies() {
  static const std::vector<Remedy> all = {
      {"--activation-checkpointing non_reentrant",
       [](PlanSubject& subject) {
         return !std::exchange(subject.config.fsdp_config.activation_checkpointing, true);
       }},
      {"--strategy FULL_SHARD",
       [](PlanSubject& subject) {
         constexpr auto kFull = fsdp::ShardingStrategy::full_shard;
         return std::exchange(subject.config.fsdp_config.options.strategy, kFull) != kFull;
       }},
      {"--micro-batch 1",
       [](PlanSubject& subject) {
         const std::int64_t before = std::exchange(subject.micro_batch_sequences, 1);
         subject.micro_batches *= before;
         return before != 1;
       }},
      {"--dtype bf16",
       [](PlanSubject& subject) {
         const bool wide = subject.compute_dtype == DType::f32;
         subject.compute_dtype = wide ? DType::bf16 : subject.compute_dtype;
         return wide;
       }},
  };
  return all;
}

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, " "));
}

/// The plan of a changed run; nothing where its options exclude each other.
std::optional<StepPlan> try_plan(PlanSubject subject, const PlanShape& shape) {
  try {
    return plan_step(std::move(subject), shape);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

constexpr int kMostNodes = 1024;

/// What to change so that `plan` fits: one thing if one is enough, else everything and more nodes.
std::string suggestion(const StepPlan& plan, std::size_t memory) {
  std::vector<std::string> single;
  std::vector<std::string> together;
  PlanSubject changed = plan.subject;
  for (const Remedy& remedy : remedies()) {
    PlanSubject alone = plan.subject;
    if (!remedy.apply(alone)) {
      continue;
    }
    const auto smaller = try_plan(std::move(alone), plan.shape);
    if (smaller && smaller->bytes_per_rank() <= memory) {
      single.push_back(fmt::format("{} ({})", remedy.text, bytes_text(smaller->bytes_per_rank())));
    } else if (smaller && smaller->bytes_per_rank() < plan.bytes_per_rank()) {
      static_cast<void>(remedy.apply(changed));
      together.push_back(remedy.text);
    }
  }
  if (!single.empty()) {
    return fmt::format("{}", fmt::join(single, ", or "));
  }
  for (PlanShape shape = plan.shape; shape.nodes <= kMostNodes; shape.nodes *= 2) {
    const auto smaller = try_plan(changed, shape);
    if (smaller && smaller->bytes_per_rank() <= memory) {
      if (shape.nodes != plan.shape.nodes) {
        together.push_back(fmt::format("--nodes {}", shape.nodes));
      }
      return fmt::format("{} ({})", joined(together), bytes_text(smaller->bytes_per_rank()));
    }
  }
  return "a smaller model, or shorter sequences";
}

}  // namespace

std::size_t parse_memory(const std::string& text) {
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  const auto bad = [&] {
    return ConfigError(
        fmt::format("'{}' is no amount of memory. Try: 80GiB, 80GB, or 512MiB", text));
  };
  if (error != std::errc() || !(number > 0.0)) {
    throw bad();
  }
  if (unit.empty() || unit == "B") {
    return static_cast<std::size_t>(number);
  }
  const std::size_t power = std::string_view("KMGT").find(unit.front());
  const std::string rest = unit.substr(1);
  const bool decimal = rest == "B";
  if (power == std::string::npos || !(decimal || rest.empty() || rest == "i" || rest == "iB")) {
    throw bad();
  }
  const double bytes = number * std::pow(decimal ? 1000.0 : 1024.0, static_cast<double>(power + 1));
  validate(bytes < 1e18, fmt::format("'{}' is more memory than there is. Try: 80GiB", text));
  return static_cast<std::size_t>(bytes);
}

Verdict check_memory(const StepPlan& plan, std::size_t memory) {
  const std::size_t needed = plan.bytes_per_rank();
  if (needed <= memory) {
    return {true, fmt::format("fits: {} of {} per rank, {} left", bytes_text(needed),
                              bytes_text(memory), bytes_text(memory - needed))};
  }
  return {false, fmt::format("does not fit: {} per rank is {} too much for {}. Try: {}",
                             bytes_text(needed), bytes_text(needed - memory), bytes_text(memory),
                             suggestion(plan, memory))};
}

}  // namespace sherd::plan
