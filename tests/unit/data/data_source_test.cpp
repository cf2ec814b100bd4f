#include "sherd/data/data_source.hpp"

#include <gmock/gmock.h>

#include <cstring>
#include <numeric>
#include <set>

#include "data/permutation.hpp"
#include "sherd/base/error.hpp"
#include "support/temp_folder.hpp"

namespace sherd::data {
namespace {

using test::message_of;
using test::TempFolder;
using testing::AllOf;
using testing::HasSubstr;

template <class T>
std::string as_bytes(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// 0, 1, ... count-1.
template <class T>
std::vector<T> counting(std::size_t count) {
  std::vector<T> values(count);
  std::iota(values.begin(), values.end(), T{0});
  return values;
}

template <class T>
std::string with_header(std::int32_t magic, std::int32_t version, const std::vector<T>& tokens) {
  std::vector<std::int32_t> header(256, 0);
  header[0] = magic;
  header[1] = version;
  header[2] = static_cast<std::int32_t>(tokens.size());
  return as_bytes(header) + as_bytes(tokens);
}

config::DataConfig tokens_config(std::vector<std::filesystem::path> files, std::int64_t length) {
  config::DataConfig config;
  config.tokens = std::move(files);
  config.sequence_length = length;
  return config;
}

std::vector<std::int32_t> values(const Tensor& tensor) {
  const auto span = tensor.span<std::int32_t>();
  return {span.begin(), span.end()};
}

TEST(RankShare, CoversTheBatchInOrderWithPartsThatDifferByOne) {
  for (const std::int64_t batch : {0, 1, 5, 6, 17}) {
    for (const int ranks : {1, 2, 3, 4, 5, 8}) {
      std::int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const SequenceRange part = rank_share(batch, ranks, rank);
        EXPECT_EQ(part.first, next);
        EXPECT_GE(part.count, batch / ranks);
        EXPECT_LE(part.count, batch / ranks + 1);
        next += part.count;
      }
      EXPECT_EQ(next, batch);
    }
  }
}

TEST(DataSource, TargetsAreTheNextTokensAndReachIntoTheNextSequence) {
  const TempFolder folder;
  const auto file = folder.write("t.bin", as_bytes(counting<std::uint16_t>(13)));
  const DataSource data(tokens_config({file}, 4), 100, 2, 0);
  EXPECT_EQ(data.tokens(), 13);
  EXPECT_EQ(data.sequences(), 3);
  const Batch batch = data.batch(0, {0, 2});
  EXPECT_EQ(batch.tokens.shape(), (Shape{2, 4}));
  EXPECT_EQ(values(batch.tokens), (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(values(batch.targets), (std::vector<std::int32_t>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(DataSource, WrapsIntoTheNextEpochInsideABatch) {
  const TempFolder folder;
  const auto file = folder.write("t.bin", as_bytes(counting<std::uint16_t>(13)));
  const DataSource data(tokens_config({file}, 4), 100, 2, 0);
  EXPECT_EQ(values(data.batch(1, {0, 2}).tokens),
            (std::vector<std::int32_t>{8, 9, 10, 11, 0, 1, 2, 3}));
}

TEST(DataSource, RanksTogetherReadWhatOneRankReads) {
  const TempFolder folder;
  const auto file = folder.write("t.bin", as_bytes(counting<std::uint16_t>(1000)));
  config::DataConfig config = tokens_config({file}, 7);
  config.order = config::DataConfig::Order::shuffled;
  const DataSource data(config, 1000, 6, 3);
  for (const std::int64_t step : {0, 5, 1000}) {
    const auto whole = values(data.batch(step, {0, 6}).tokens);
    for (const int ranks : {2, 3, 4, 5, 8}) {
      std::vector<std::int32_t> joined;
      for (int rank = 0; rank < ranks; ++rank) {
        const auto part = values(data.batch(step, rank_share(6, ranks, rank)).tokens);
        joined.insert(joined.end(), part.begin(), part.end());
      }
      EXPECT_EQ(joined, whole) << ranks << " ranks, step " << step;
    }
  }
}

TEST(DataSource, ShufflingVisitsEverySequenceOnceAnEpochInAnotherOrderEachTime) {
  const TempFolder folder;
  const auto file = folder.write("t.bin", as_bytes(counting<std::uint16_t>(51)));
  config::DataConfig config = tokens_config({file}, 1);
  config.order = config::DataConfig::Order::shuffled;
  const DataSource data(config, 51, 10, 3);
  std::vector<std::vector<std::int32_t>> epochs;
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    auto& seen = epochs.emplace_back();
    for (std::int64_t step = 0; step < 5; ++step) {
      const auto part = values(data.batch(epoch * 5 + step, {0, 10}).tokens);
      seen.insert(seen.end(), part.begin(), part.end());
    }
    EXPECT_EQ(std::set<std::int32_t>(seen.begin(), seen.end()).size(), 50U);
    EXPECT_NE(seen, counting<std::int32_t>(50));
  }
  EXPECT_NE(epochs[0], epochs[1]);
  const DataSource other(config, 51, 10, 4);
  EXPECT_NE(values(other.batch(0, {0, 10}).tokens), values(data.batch(0, {0, 10}).tokens));
}

TEST(Permutation, IsOneForEverySize) {
  for (const std::uint64_t size : std::vector<std::uint64_t>{1, 2, 3, 4, 5, 16, 17, 1000, 4097}) {
    for (const std::uint64_t seed : std::vector<std::uint64_t>{0, 1, 77}) {
      const Permutation permute(size, seed);
      std::set<std::uint64_t> seen;
      for (std::uint64_t i = 0; i < size; ++i) {
        const std::uint64_t to = permute(i);
        EXPECT_LT(to, size);
        seen.insert(to);
      }
      EXPECT_EQ(seen.size(), size);
    }
  }
  const Permutation large(std::uint64_t{1} << 62, 5);
  EXPECT_LT(large(123456789), std::uint64_t{1} << 62);
}

TEST(TokenFiles, BothHeadersAreReadAndFilesJoin) {
  const TempFolder folder;
  const auto a = folder.write("a.bin", with_header<std::uint16_t>(20240520, 1, {1, 2, 3}));
  const auto b = folder.write("b.bin", with_header<std::uint32_t>(20240801, 7, {70000, 5}));
  const auto c = folder.write("c.bin", as_bytes(std::vector<std::uint16_t>{6, 7}));
  const auto empty = folder.write("empty.bin", "");
  auto config = tokens_config({a, empty, b, c}, 6);
  config.token_bytes = 2;  // of c, which has no header
  const DataSource data(config, 80000, 1, 0);
  EXPECT_EQ(values(data.batch(0, {0, 1}).tokens),
            (std::vector<std::int32_t>{1, 2, 3, 70000, 5, 6}));
  EXPECT_EQ(values(data.batch(0, {0, 1}).targets),
            (std::vector<std::int32_t>{2, 3, 70000, 5, 6, 7}));
}

std::string open_problem(const TempFolder& folder, const std::string& content) {
  const auto file = folder.write("bad.bin", content);
  return message_of<ConfigError>(
      [&] { const DataSource data(tokens_config({file}, 1), 100, 1, 0); });
}

TEST(TokenFiles, BadOnesAreRefusedByName) {
  const TempFolder folder;
  EXPECT_THAT(open_problem(folder, "abc"), AllOf(HasSubstr("bad.bin"), HasSubstr("3 bytes long")));
  EXPECT_THAT(open_problem(folder, with_header<std::uint16_t>(20240520, 2, {1, 2})),
              HasSubstr("token file of version 2"));
  auto cut = with_header<std::uint16_t>(20240520, 1, {1, 2, 3});
  cut.pop_back();
  EXPECT_THAT(open_problem(folder, cut),
              HasSubstr("promises 3 tokens, 1030 bytes in all, but it has 1029"));
  EXPECT_THAT(open_problem(folder, with_header<std::uint16_t>(20240522, 1, {1})),
              HasSubstr("evaluation examples"));
  EXPECT_THAT(message_of<ConfigError>([&] {
                const DataSource data(tokens_config({folder.path() / "none"}, 1), 100, 1, 0);
              }),
              HasSubstr("No such file"));
}

TEST(DataSource, TooLittleDataForOneBatchIsRefused) {
  const TempFolder folder;
  const auto file = folder.write("t.bin", as_bytes(counting<std::uint16_t>(8)));
  EXPECT_NO_THROW(DataSource(tokens_config({file}, 7), 100, 1, 0));
  for (const auto& [length, batch] : {std::pair<int, int>{8, 1}, {7, 2}}) {
    EXPECT_THAT(message_of<ConfigError>([&, l = length, b = batch] {
                  const DataSource data(tokens_config({file}, l), 100, b, 0);
                }),
                AllOf(HasSubstr("t.bin: 8 tokens"), HasSubstr("less than one batch")));
  }
}

TEST(DataSource, ATokenBeyondTheVocabularyIsNamed) {
  const TempFolder folder;
  const auto good = folder.write("good.bin", as_bytes(std::vector<std::uint16_t>{1, 2, 3}));
  const auto bad = folder.write("bad.bin", as_bytes(std::vector<std::uint16_t>{0, 9, 10, 300, 1}));
  const DataSource data(tokens_config({good, bad}, 1), 10, 1, 0);
  const auto problem = [&](const auto& body) { return message_of<ConfigError>(body); };
  EXPECT_THAT(
      problem([&] {
        (void)data.batch(5, {0, 1});
      }),
      AllOf(HasSubstr("bad.bin: token 2 is 10, "), HasSubstr("vocabulary has 10 (ids 0 to 9)")));
  EXPECT_NO_THROW((void)data.batch(3, {0, 1}));
  EXPECT_NO_THROW(data.check_tokens(0, 4, 1, 0));
  EXPECT_NO_THROW(data.check_tokens(0, 7, 2, 0));
  EXPECT_THAT(problem([&] { data.check_tokens(0, 7, 2, 1); }), HasSubstr("token 2 is 10"));
  EXPECT_THAT(problem([&] { data.check_tokens(6, 20, 1, 0); }), HasSubstr("token 2 is 10"));
}

TEST(TextFiles, FoldersAreReadInOrderWithoutHiddenOrRepeatedFiles) {
  const TempFolder folder;
  folder.write("book/b.txt", "world");
  folder.write("book/a.txt", "hello ");
  folder.write("book/sub/c", "!?");
  folder.write("book/.hidden", "zzz");
  folder.write("book/.git/x", "zzz");
  std::filesystem::create_symlink("a.txt", folder.path() / "book/z.txt");
  config::DataConfig config;
  config.text = {folder.path() / "book"};
  config.sequence_length = 12;
  const DataSource data(config, 256, 1, 0);
  EXPECT_EQ(data.tokens(), 13);
  std::string text;
  for (const std::int32_t token : values(data.batch(0, {0, 1}).tokens)) {
    text.push_back(static_cast<char>(token));
  }
  EXPECT_EQ(text, "hello world!");
}

TEST(Manifest, NamesWhatChanged) {
  const TempFolder folder;
  auto config = tokens_config({folder.write("t.bin", as_bytes(counting<std::uint16_t>(100)))}, 4);
  const std::string saved = DataSource(config, 100, 2, 0).manifest();
  const auto problem = [&](std::int64_t batch) {
    return message_of<ConfigError>(
        [&] { DataSource(config, 100, batch, 0).check_manifest(saved); });
  };
  EXPECT_EQ(problem(2), "");
  EXPECT_THAT(problem(3), HasSubstr("global_batch_size is 3, it was 2"));
  config.sequence_length = 5;
  EXPECT_THAT(problem(2), HasSubstr("sequence_length is 5, it was 4"));
  config.sequence_length = 4;
  auto other = counting<std::uint16_t>(100);
  other[50] = 1;
  folder.write("t.bin", as_bytes(other));
  EXPECT_THAT(problem(2), HasSubstr("t.bin has other content"));
  folder.write("t.bin", as_bytes(counting<std::uint16_t>(90)));
  EXPECT_THAT(problem(2), HasSubstr("has 180 bytes, it had 200"));
  config.allow_change = true;
  EXPECT_EQ(problem(2), "");
}

}  // namespace
}  // namespace sherd::data
