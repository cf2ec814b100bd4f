#include "data/token_file.hpp"

#include <gmock/gmock.h>

#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "data/looks_like.hpp"
#include "sherd/base/error.hpp"
#include "sherd/data/data_source.hpp"
#include "support/temp_folder.hpp"

namespace sherd::data {
namespace {

using test::message_of;
using test::TempFolder;
using testing::AllOf;
using testing::HasSubstr;
using ByteOrder = IdFormat::ByteOrder;

/// Ids of a text: low ones more often than high ones, all of them below `vocab_size`.
std::vector<std::uint64_t> ids_of_a_text(std::size_t count, std::uint64_t vocab_size) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < count; ++i) {
    ids.push_back(i % 3 == 0 ? random() % 200 : random() % vocab_size);
  }
  return ids;
}

std::string as_bytes(const std::vector<std::uint64_t>& ids, const IdFormat& format) {
  std::string bytes;
  for (const std::uint64_t id : ids) {
    for (int i = 0; i < format.bytes; ++i) {
      const int place = format.order == ByteOrder::little ? i : format.bytes - 1 - i;
      bytes.push_back(static_cast<char>((id >> (8 * place)) & 0xFFU));
    }
  }
  return bytes;
}

const std::vector<IdFormat> kFormats = {{2, ByteOrder::little}, {2, ByteOrder::big},
                                        {4, ByteOrder::little}, {4, ByteOrder::big},
                                        {8, ByteOrder::little}, {8, ByteOrder::big}};

class TokenFiles : public testing::Test {
 protected:
  config::DataConfig config(const std::string& name, int bytes = 0,
                            ByteOrder order = ByteOrder::little) {
    config::DataConfig config;
    config.tokens = {folder_.path() / name};
    config.token_bytes = bytes;
    config.token_byte_order = order;
    config.sequence_length = 8;
    return config;
  }
  std::string problem(const config::DataConfig& config, std::int64_t vocab_size = 50257) {
    return message_of<ConfigError>([&] {
      const DataSource data(config, vocab_size, 1, 0);
      data.check_tokens(0, data.sequences(), 1, 0);
    });
  }
  std::string problem_of(const std::string& name, const std::string& content,
                         std::int64_t vocab_size = 50257) {
    folder_.write(name, content);
    return problem(config(name), vocab_size);
  }

  TempFolder folder_;
};

TEST_F(TokenFiles, EveryWidthAndByteOrderIsReadAsStated) {
  const auto ids = ids_of_a_text(100, 50257);
  for (const IdFormat& format : kFormats) {
    folder_.write("t.bin", as_bytes(ids, format));
    const DataSource data(config("t.bin", format.bytes, format.order), 50257, 1, 0);
    ASSERT_EQ(data.tokens(), 100);
    const Batch batch = data.batch(2, {0, 1});
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(static_cast<std::uint64_t>(batch.tokens.data<std::int32_t>()[i]), ids[16 + i])
          << to_string(format);
    }
  }
}

TEST_F(TokenFiles, EveryOtherWidthAndByteOrderIsRefusedWithTheKeysToSet) {
  for (const std::uint64_t vocab : {256U, 32000U, 50257U}) {
    const auto ids = ids_of_a_text(4000, vocab);
    for (const IdFormat& written : kFormats) {
      folder_.write("t.bin", as_bytes(ids, written));
      for (const IdFormat& stated : kFormats) {
        const std::string text =
            problem(config("t.bin", stated.bytes, stated.order), static_cast<std::int64_t>(vocab));
        if (written == stated) {
          EXPECT_EQ(text, "") << to_string(written) << " of " << vocab;
          continue;
        }
        const std::string order = written.order == ByteOrder::big ? "big" : "little";
        const std::string bytes = "data.token_bytes=" + std::to_string(written.bytes);
        EXPECT_THAT(text, HasSubstr("t.bin: looks like " + to_string(written))) << vocab;
        EXPECT_EQ(text.find(bytes) != std::string::npos, written.bytes != stated.bytes);
        EXPECT_EQ(text.find("data.token_byte_order=" + order) != std::string::npos,
                  written.order != stated.order);
      }
    }
  }
}

TEST_F(TokenFiles, WhereSixteenBitsDoNotHoldTheVocabularyTheWidthMustBeSaid) {
  const auto ids = ids_of_a_text(4000, 128256);
  folder_.write("t.bin", as_bytes(ids, {4, ByteOrder::little}));
  EXPECT_THAT(problem(config("t.bin"), 128256),
              AllOf(HasSubstr("t.bin: no header and no data.token_bytes"),
                    HasSubstr("vocabulary of 128256"), HasSubstr("32-bit little-endian"),
                    HasSubstr("Try: data.token_bytes=4")));
  EXPECT_EQ(problem(config("t.bin", 4), 128256), "");
  EXPECT_THAT(problem(config("t.bin", 2), 128256), HasSubstr("Try: data.token_bytes=4"));
  folder_.write("t.bin", as_bytes(ids, {8, ByteOrder::big}));
  EXPECT_THAT(problem(config("t.bin"), 128256),
              HasSubstr("Try: data.token_bytes=8 data.token_byte_order=big"));
  folder_.write("t.bin", as_bytes(ids_of_a_text(4000, 50257), {2, ByteOrder::little}));
  EXPECT_THAT(problem(config("t.bin"), 128256), HasSubstr("Try: data.token_bytes=2"));
  EXPECT_EQ(problem(config("t.bin", 2), 128256), "");
  EXPECT_EQ(problem(config("t.bin"), 65536), "");
}

TEST_F(TokenFiles, IdsOfALargerVocabularyAreKnownByTheirWidthAllTheSame) {
  folder_.write("t.bin", as_bytes(ids_of_a_text(4000, 128256), {4}));
  for (const std::int64_t vocab : {50257, 65536, 100000}) {
    EXPECT_THAT(problem(config("t.bin", 2), vocab), HasSubstr("Try: data.token_bytes=4")) << vocab;
    EXPECT_THAT(problem(config("t.bin", 4), vocab), HasSubstr("t.bin: token ")) << vocab;
  }
  EXPECT_THAT(problem(config("t.bin"), 100000), HasSubstr("Try: data.token_bytes=4"));
}

TEST_F(TokenFiles, IdsOfATinyVocabularyAreNotTakenForWideOnes) {
  auto ids = ids_of_a_text(4000, 5);
  for (std::uint64_t& id : ids) {
    id %= 5;
  }
  EXPECT_EQ(problem_of("t.bin", as_bytes(ids, {2}), 5), "");
  ids[100] = 5;
  EXPECT_THAT(problem_of("t.bin", as_bytes(ids, {2}), 5), HasSubstr("token 100 is 5"));
}

TEST_F(TokenFiles, FewOrConstantIdsSayNothing) {
  EXPECT_EQ(problem_of("t.bin", std::string(400, '\0')), "");
  EXPECT_EQ(problem_of("t.bin", as_bytes(std::vector<std::uint64_t>(200, 7), {4})), "");
  EXPECT_EQ(problem_of("t.bin", as_bytes({1, 2, 3, 4, 5, 6, 7, 8, 9}, {4})), "");
}

TEST_F(TokenFiles, OneIdBeyondTheVocabularyIsNamedNotTakenForAnotherFormat) {
  auto ids = ids_of_a_text(4000, 50257);
  ids[3000] = 50257;
  for (const IdFormat& format : kFormats) {
    folder_.write("t.bin", as_bytes(ids, format));
    EXPECT_THAT(problem(config("t.bin", format.bytes, format.order)),
                AllOf(HasSubstr("t.bin: token 3000 is 50257, but the model's vocabulary has 50257 "
                                "(ids 0 to 50256); it is at byte " +
                                std::to_string(3000 * format.bytes)),
                      HasSubstr(to_string(format))));
  }
}

TEST_F(TokenFiles, NegativeIdsAreNone) {
  auto ids = ids_of_a_text(4000, 50257);
  ids[10] = ~std::uint64_t{0};  // -1, with which others mark what is not to be learnt
  folder_.write("t.bin", as_bytes(ids, {4}));
  EXPECT_THAT(problem(config("t.bin", 4)), HasSubstr("token 10 is 4294967295"));
  folder_.write("t.bin", as_bytes(ids, {8}));
  EXPECT_THAT(problem(config("t.bin", 8)), HasSubstr("token 10 is 18446744073709551615"));
}

TEST_F(TokenFiles, OtherKindsOfFilesAreRefusedWithWhatToDo) {
  const std::string ids = as_bytes(ids_of_a_text(100, 50257), {2});
  const std::string numpy = std::string("\x93NUMPY\1\0\x76\0", 10) +
                            "{'descr': '<u2', 'fortran_order': False, 'shape': (100,), }" +
                            std::string(58, ' ') + "\n" + ids;
  EXPECT_THAT(problem_of("t.npy", numpy),
              AllOf(HasSubstr("t.npy: numpy's file of an array (.npy, <u2)"),
                    HasSubstr("Try: numpy.load('t.npy').astype('<u2').tofile('t.bin')"),
                    testing::Not(HasSubstr("token_bytes"))));
  EXPECT_THAT(problem_of("t.npy", numpy, 128256),
              AllOf(HasSubstr("astype('<u4')"), HasSubstr("data.token_bytes=4")));
  const std::vector<std::tuple<std::string, std::string>> cases = {
      {"\x1f\x8b\x08", "compressed by gzip"},
      {"\x28\xb5\x2f\xfd", "compressed by zstd"},
      {std::string("\xfd\x37zXZ\0", 6), "compressed by xz"},
      {"PK\x03\x04", "a zip archive"},
      {"PAR1", "a Parquet file"},
      {std::string("MMIDIDX\0\0", 9), "Megatron's index"},
  };
  for (const auto& [magic, says] : cases) {
    const std::string even = magic.size() % 2 == 0 ? ids : ids + "x";
    EXPECT_THAT(problem_of("t.bin", magic + even),
                AllOf(HasSubstr("t.bin: " + says), HasSubstr("Try: ")));
  }
}

TEST_F(TokenFiles, TextIsRefused) {
  const std::string english = "In the beginning God created the heaven and the earth.\n";
  EXPECT_THAT(problem_of("t.txt", english),
              AllOf(HasSubstr("t.txt: text, not a stream"), HasSubstr("Try: data.text=[")));
  EXPECT_THAT(
      problem_of("t.txt", "{\"text\": \"\u0412 \u043d\u0430\u0447\u0430\u043b\u0435\"}\r\n"),
      HasSubstr("t.txt: text"));
  EXPECT_THAT(problem_of("t.bin", as_bytes(ids_of_a_text(100, 256), {2}), 256), "");
}

TEST_F(TokenFiles, MegatronsIndexBesideAFileIsRefusedUnlessTheWidthIsSaid) {
  folder_.write("t.bin", as_bytes(ids_of_a_text(4000, 50257), {4}));
  const auto index = [&](char type) {
    folder_.write("t.idx",
                  std::string("MMIDIDX\0\0\1\0\0\0\0\0\0\0", 17) + type + std::string(100, '\0'));
  };
  index(4);
  EXPECT_THAT(problem(config("t.bin")),
              AllOf(HasSubstr("t.bin: t.idx beside it is Megatron's index"), HasSubstr("32 bits"),
                    HasSubstr("Try: data.token_bytes=4")));
  EXPECT_THAT(problem(config("t.bin", 2)), HasSubstr("Try: data.token_bytes=4"));
  EXPECT_EQ(problem(config("t.bin", 4)), "");
  index(0);
  EXPECT_THAT(problem(config("t.bin")), HasSubstr("Try: data.token_bytes=2 or 4"));
  folder_.write("t.idx", "notes of somebody");
  EXPECT_THAT(problem(config("t.bin")), HasSubstr("looks like 32-bit"));
}

/// Beginnings of all kinds, cut and changed: a file is read, or refused by name; nothing else.
TEST_F(TokenFiles, NoBeginningOfAFileCrashesItsReader) {
  const std::string header(1024, '\0');
  const std::vector<std::string> heads = {std::string("\x93NUMPY\1\0\x76\0{'descr': '", 21),
                                          "\x1f\x8b\x08",
                                          "PK\x03\x04",
                                          as_bytes({20240520, 1, 5}, {4}) + header,
                                          as_bytes({20240801, 7, 5}, {4}) + header,
                                          "\xe2\x82\xac text \xf0\x9f",
                                          ""};
  std::mt19937 random(2);
  for (int i = 0; i < 1500; ++i) {
    std::string bytes = heads[random() % heads.size()];
    bytes.resize(bytes.size() + random() % 64, static_cast<char>(random() & 0xFFU));
    if (!bytes.empty() && random() % 2 == 0) {
      bytes[random() % bytes.size()] = static_cast<char>(random() & 0xFFU);
      bytes.resize(random() % (bytes.size() + 1));
    }
    folder_.write("t.bin", bytes);
    const std::string text = problem(config("t.bin", 2 << (random() % 3)), 256);
    EXPECT_TRUE(text.empty() || text.find("t.bin: ") != std::string::npos) << text;
  }
}

TEST(LooksLike, ALargeFileIsJudgedBySamplesFromAllOverIt) {
  auto ids = std::vector<std::uint64_t>(1 << 19, 0);  // its beginning says nothing
  const auto text = ids_of_a_text(1 << 19, 50257);
  ids.insert(ids.end(), text.begin(), text.end());
  const std::string bytes = as_bytes(ids, {4});
  const auto other = contradicting_format(std::as_bytes(std::span(bytes)), {2}, 50257);
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(*other, (IdFormat{4}));
  EXPECT_FALSE(contradicting_format(std::as_bytes(std::span(bytes)), {4}, 50257).has_value());
}

TEST_F(TokenFiles, AnotherWidthOnResumeIsAChangeOfTheData) {
  folder_.write("t.bin", as_bytes(std::vector<std::uint64_t>(400, 0), {2}));
  const auto manifest = [&](int bytes, ByteOrder order) {
    return DataSource(config("t.bin", bytes, order), 256, 1, 0).manifest();
  };
  const auto change = [&](int bytes, ByteOrder order) {
    return message_of<ConfigError>([&] {
      DataSource(config("t.bin", bytes, order), 256, 1, 0)
          .check_manifest(manifest(0, ByteOrder::little));
    });
  };
  EXPECT_EQ(change(2, ByteOrder::little), "");
  EXPECT_THAT(change(4, ByteOrder::little), HasSubstr("token_bytes is 4, it was 2"));
  EXPECT_THAT(change(2, ByteOrder::big), HasSubstr("token_byte_order is \"big\""));
}

}  // namespace
}  // namespace sherd::data
