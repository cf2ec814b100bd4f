#include "sherd/train/metrics.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>

#include "sherd/base/error.hpp"
#include "sherd/train/console.hpp"
#include "support/temp_folder.hpp"

namespace sherd::train {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using test::TempFolder;
using testing::HasSubstr;
using testing::Not;

StepMetrics metrics_of(std::int64_t step) {
  StepMetrics metrics;
  metrics.step = step;
  metrics.loss = 5.0 / 3.0;
  metrics.tokens_per_second = 1234567.0;
  metrics.memory_bytes = {{"parameters", 12345678901ULL}};
  return metrics;
}

TEST(Metrics, NumbersReadBackToTheSameBits) {
  StepMetrics metrics = metrics_of(7);
  metrics.grad_norm = 0.1 + 0.2;
  metrics.learning_rate = std::nextafter(1e-3, 1.0);
  const auto json = nlohmann::json::parse(to_json_line(metrics));
  EXPECT_EQ(json["step"], 7);
  EXPECT_EQ(json["loss"].get<double>(), metrics.loss);
  EXPECT_EQ(json["grad_norm"].get<double>(), metrics.grad_norm);
  EXPECT_EQ(json["learning_rate"].get<double>(), metrics.learning_rate);
  EXPECT_EQ(json["memory_bytes"]["parameters"].get<std::uint64_t>(), 12345678901ULL);
  for (const char* key : {"tokens_per_second", "step_seconds", "checkpoint_stall_seconds"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
}

TEST(Metrics, ASaveIsToldOnceThereIsOne) {
  StepMetrics metrics = metrics_of(3);
  EXPECT_FALSE(nlohmann::json::parse(to_json_line(metrics)).contains("checkpoint"));
  metrics.checkpoint = {2, "writing", 1000, 250, 500.0, 1.5};
  EXPECT_EQ(nlohmann::json::parse(to_json_line(metrics))["checkpoint"],
            nlohmann::json::parse(R"({"step": 2, "phase": "writing", "bytes_total": 1000,
                "bytes_written": 250, "bytes_per_second": 500.0, "seconds_left": 1.5})"));
}

TEST(Metrics, NotANumberIsNull) {
  StepMetrics metrics = metrics_of(1);
  metrics.loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(nlohmann::json::parse(to_json_line(metrics))["loss"].is_null());
}

std::vector<std::int64_t> steps_in(const std::string& text) {
  std::vector<std::int64_t> steps;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    steps.push_back(nlohmann::json::parse(line)["step"]);
  }
  return steps;
}

TEST(Metrics, AResumedRunCutsWhatItWritesAgain) {
  const TempFolder folder;
  const auto file = folder.path() / "run" / "metrics.jsonl";
  {
    MetricsWriter writer(file, 1);
    for (std::int64_t step = 1; step <= 5; ++step) {
      writer.write(metrics_of(step));
    }
  }
  std::ofstream(file, std::ios::app) << "{\"step\": 6, \"lo";  // killed while writing
  {
    MetricsWriter writer(file, 4);
    writer.write(metrics_of(4));
  }
  EXPECT_EQ(steps_in(folder.read("run/metrics.jsonl")), (std::vector<std::int64_t>{1, 2, 3, 4}));
  { const MetricsWriter writer(file, 9); }
  EXPECT_EQ(steps_in(folder.read("run/metrics.jsonl")).size(), 4U);
  { const MetricsWriter writer(file, 1); }
  EXPECT_EQ(folder.read("run/metrics.jsonl"), "");
}

TEST(Metrics, AFileThatCannotBeOpenedIsNamed) {
  const TempFolder folder;
  const auto file = folder.write("file", "x");
  EXPECT_THAT(test::message_of<IoError>([&] { const MetricsWriter writer(file / "m.jsonl", 1); }),
              HasSubstr("m.jsonl"));
}

/// What `body` logs, for standard error is where warnings go.
template <class Body>
std::string logged(const Body& body) {
  testing::internal::CaptureStderr();
  body();
  return testing::internal::GetCapturedStderr();
}

TEST(Metrics, AFullDiskIsOneWarningAndNoLineIsTorn) {
  const TempFolder folder;
  const auto file = folder.path() / "metrics.jsonl";
  const std::size_t line = to_json_line(metrics_of(1)).size() + 1;
  MetricsWriter writer(file, 1);
  writer.write(metrics_of(1));
  std::signal(SIGXFSZ, SIG_IGN);  // as the program does
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{2 * line - 5, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const std::string full = logged([&] {
    writer.write(metrics_of(2));
    writer.write(metrics_of(3));
  });
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_THAT(full, HasSubstr("metrics.jsonl: cannot write (File too large)"));
  EXPECT_EQ(std::count(full.begin(), full.end(), '\n'), 1) << full;
  const std::string room = logged([&] { writer.write(metrics_of(4)); });
  EXPECT_THAT(room, HasSubstr("the lines of steps 2 to 3 are missing"));
  writer.write(metrics_of(5));
  EXPECT_EQ(steps_in(folder.read("metrics.jsonl")), (std::vector<std::int64_t>{1, 4, 5}));
}

TEST(Metrics, AFolderThatVanishesIsOneWarning) {
  const TempFolder folder;
  const auto run = folder.path() / "run";
  MetricsWriter writer(run / "metrics.jsonl", 1);
  writer.write(metrics_of(1));
  std::filesystem::remove_all(run);
  const std::string gone = logged([&] {
    writer.write(metrics_of(2));
    writer.write(metrics_of(3));
  });
  EXPECT_EQ(std::count(gone.begin(), gone.end(), '\n'), 1) << gone;
  EXPECT_FALSE(std::filesystem::exists(run)) << "whoever removed it need not see it again";
  std::filesystem::create_directory(run);
  EXPECT_THAT(logged([&] { writer.write(metrics_of(4)); }), HasSubstr("steps 2 to 3 are missing"));
  EXPECT_EQ(steps_in(folder.read("run/metrics.jsonl")), (std::vector<std::int64_t>{4}));
}

TEST(Metrics, LinesOfSeveralRunsAreCutByStepAndNotByPlace) {
  const TempFolder folder;
  const auto file =
      folder.write("m.jsonl", "{\"step\": 8}\n{\"step\": 2}\nno line\n{\"step\": 3}\n");
  { const MetricsWriter writer(file, 4); }
  EXPECT_EQ(folder.read("m.jsonl"), "{\"step\": 2}\n{\"step\": 3}\n");
}

/// A console whose output and clock belong to the test.
class ConsoleTest : public testing::Test {
 protected:
  ConsoleOptions options(std::int64_t last, std::int64_t interval, bool live) {
    ConsoleOptions options;
    options.last_step = last;
    options.interval = interval;
    options.live = live;
    options.write = [this](std::string_view text) { text_ += text; };
    options.now = [this] { return now_; };
    return options;
  }
  [[nodiscard]] std::int64_t lines() const { return std::count(text_.begin(), text_.end(), '\n'); }

  std::string text_;
  steady_clock::time_point now_;
};

TEST_F(ConsoleTest, PlainLinesComeAtTheIntervalFirstAndLast) {
  Console console(options(25, 10, false));
  for (std::int64_t step = 1; step <= 25; ++step) {
    console.step(metrics_of(step));
  }
  EXPECT_EQ(lines(), 4);  // 1, 10, 20, 25
  EXPECT_THAT(text_, HasSubstr("step 20/25 | loss 1.6667"));
  EXPECT_THAT(text_, HasSubstr("1,234,567 tok/s (all ranks)"));
  EXPECT_THAT(text_, Not(HasSubstr("\r")));
  EXPECT_THAT(text_, Not(HasSubstr("\x1b")));
}

TEST_F(ConsoleTest, SilenceEndsAfterAMinute) {
  Console console(options(1000, 1000, false));
  for (std::int64_t step = 1; step <= 4; ++step) {
    console.step(metrics_of(step));
    now_ += seconds(25);
  }
  EXPECT_EQ(lines(), 2);  // step 1, and step 4 after 75 s
}

TEST_F(ConsoleTest, TheFirstStepIsNotInTheEta) {
  Console console(options(10, 1, false));
  now_ += seconds(100);
  console.step(metrics_of(1));
  EXPECT_LT(console.eta_seconds(), 0.0);
  now_ += seconds(2);
  console.step(metrics_of(2));
  EXPECT_DOUBLE_EQ(console.eta_seconds(), 16.0);
  EXPECT_THAT(text_, HasSubstr("eta 16s"));
}

TEST_F(ConsoleTest, TheLiveLineIsRewrittenAndEndsOnce) {
  {
    Console console(options(3, 1, true));
    console.step(metrics_of(1), "writing step 1");
    console.message("saved step 1");
    now_ += seconds(1);
    console.step(metrics_of(2));
    console.finish();
  }
  EXPECT_EQ(lines(), 2);
  EXPECT_THAT(text_, HasSubstr("writing step 1"));
  EXPECT_THAT(text_, HasSubstr("\r\x1b[Ksaved step 1\n"));
}

}  // namespace
}  // namespace sherd::train
