#include "sherd/io/safetensors.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <random>

#include "sherd/base/error.hpp"
#include "support/temp_folder.hpp"

namespace sherd::io {
namespace {

using test::message_of;
using test::TempFolder;
using testing::AllOf;
using testing::HasSubstr;

std::string prefix(std::uint64_t length) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<char>((length >> (8 * i)) & 0xFFU);
  }
  return bytes;
}

std::string file_of(const std::string& header, std::size_t body_bytes) {
  return prefix(header.size()) + header + std::string(body_bytes, '\1');
}

class Safetensors : public testing::Test {
 protected:
  std::string problem(const std::string& content) {
    const auto file = folder_.write("m.safetensors", content);
    return message_of<ConfigError>([&] { const SafetensorsReader reader(file); });
  }
  std::string header_problem(const std::string& header, std::size_t body) {
    return problem(file_of(header, body));
  }
  TempFolder folder_;
};

/// A source whose element i is i + offset.
SafetensorsSource counting(std::string name, Shape shape, DType dtype, double offset) {
  return {std::move(name), std::move(shape), dtype,
          [offset](std::int64_t first, const Tensor& out) {
            const Tensor wide = Tensor::empty({out.numel()}, DType::f64);
            for (std::int64_t i = 0; i < out.numel(); ++i) {
              wide.data<double>()[i] = static_cast<double>(first + i) + offset;
            }
            convert(wide, out);
          }};
}

TEST_F(Safetensors, RoundTripOfTypesScalarsAndEmptyTensors) {
  const auto file = folder_.path() / "m.safetensors";
  write_safetensors(
      file, {counting("b", {3, 5}, DType::f32, 0.5), counting("a", {7}, DType::bf16, 1),
             counting("scalar", {}, DType::f64, 4), counting("empty", {2, 0}, DType::f16, 0)});
  EXPECT_FALSE(std::filesystem::exists(file.string() + ".tmp"));
  EXPECT_THAT(folder_.read("m.safetensors"), HasSubstr(R"("__metadata__":{"format":"pt"})"));
  const SafetensorsReader reader(file);
  ASSERT_EQ(reader.entries().size(), 4U);
  EXPECT_EQ(reader.entries().at("b").shape, (Shape{3, 5}));
  EXPECT_EQ(reader.entries().at("b").file_offset % 8, 0U);
  EXPECT_EQ(reader.entries().at("a").dtype, DType::bf16);
  const Tensor part = Tensor::empty({4}, DType::f32);
  reader.read("b", 11, part);
  EXPECT_EQ(part.data<float>()[0], 11.5F);
  EXPECT_EQ(part.data<float>()[3], 14.5F);
  reader.read("a", 3, part);  // bf16 read as f32
  EXPECT_EQ(part.data<float>()[3], 7.0F);
  const Tensor one = Tensor::empty({1}, DType::f64);
  reader.read("scalar", 0, one);
  EXPECT_EQ(one.data<double>()[0], 4.0);
  reader.read("empty", 0, Tensor::empty({0}, DType::f32));
  EXPECT_THROW(reader.read("b", 12, part), ArgumentError);
  EXPECT_THROW(reader.read("c", 0, part), ArgumentError);
}

TEST_F(Safetensors, ATensorLargerThanTheWritersChunkIsWhole) {
  const auto file = folder_.path() / "m.safetensors";
  constexpr std::int64_t kNumel = (std::int64_t{16} << 20) / 4 + 5;  // one chunk and a bit
  write_safetensors(file, {counting("t", {kNumel}, DType::f32, 0)});
  const SafetensorsReader reader(file);
  const Tensor last = Tensor::empty({7}, DType::f32);
  reader.read("t", kNumel - 7, last);
  for (std::int64_t i = 0; i < 7; ++i) {
    EXPECT_EQ(last.data<float>()[i], static_cast<float>(kNumel - 7 + i));
  }
}

TEST_F(Safetensors, LengthsThatDoNotFitAreRefused) {
  EXPECT_THAT(problem("abc"), HasSubstr("only 3 bytes long"));
  EXPECT_THAT(problem(prefix(50) + "{}"),
              AllOf(HasSubstr("m.safetensors"),
                    HasSubstr("claims a header of 50 bytes, but only 2 follow")));
  EXPECT_THAT(problem(prefix(100'000'001) + "{}"), HasSubstr("at most 100000000 are legal"));
  EXPECT_THAT(problem(prefix(~std::uint64_t{0}) + "{}"), HasSubstr("are legal"));
  EXPECT_THAT(message_of<ConfigError>([&] { const SafetensorsReader r(folder_.path() / "no"); }),
              HasSubstr("cannot be read"));
}

TEST_F(Safetensors, MalformedHeadersAreRefused) {
  const std::vector<std::tuple<std::string, std::size_t, std::string>> cases = {
      {"", 0, "does not begin with '{'"},
      {" {}", 0, "does not begin with '{'"},
      {"{", 0, "the header: not readable as JSON"},
      {"{\"a\": nan}", 0, "the header: not readable as JSON"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
       2, "tensor 'a': given twice"},
      {R"({"a":5})", 0, "not described by a JSON object"},
      {R"({"a":{"shape":[1],"data_offsets":[0,1]}})", 1, "has no dtype"},
      {R"({"a":{"dtype":"F99","shape":[1],"data_offsets":[0,1]}})", 1,
       "dtype \"F99\" is not supported"},
      {R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1,
       "extent -1 is not a whole number"},
      {R"({"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}})", 1, "is not a whole number"},
      {R"({"a":{"dtype":"U8","shape":3,"data_offsets":[0,1]}})", 1, "shape is not a list"},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,1]}})", 1,
       "more bytes than 64 bits"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1, "not a list of two numbers"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,1]}})", 1, "do not hold the 2 bytes"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", 1, "do not hold the 1 bytes"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 3,
       "ends at byte 4 of the data, but the file has only 3"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
       3, "tensor 'b': overlaps"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2,
       "bytes 0 to 1 before it belong to no tensor"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 3,
       "the last 2 bytes belong to no tensor"},
      {R"({"__metadata__":{"x":1}})", 0, "__metadata__ does not map text to text"},
  };
  for (const auto& [header, body, wanted] : cases) {
    EXPECT_THAT(header_problem(header, body), HasSubstr(wanted)) << header;
  }
  EXPECT_EQ(header_problem(R"({"__metadata__":{"x":"y"}}   )", 0), "");
}

std::string one_tensor(const std::string& dtype, int elements, int bytes) {
  return R"({"a":{"dtype":")" + dtype + R"(","shape":[)" + std::to_string(elements) +
         R"(],"data_offsets":[0,)" + std::to_string(bytes) + "]}}";
}

TEST_F(Safetensors, TypesThatThisProgramLacksAreListedAndRefusedOnlyWhenRead) {
  const std::vector<std::tuple<std::string, int, int>> types = {
      {"I8", 4, 4},      {"I16", 4, 8},     {"U32", 4, 16},    {"U64", 4, 32},
      {"BOOL", 4, 4},    {"F8_E4M3", 4, 4}, {"F8_E5M2", 4, 4}, {"F8_E8M0", 4, 4},
      {"F6_E2M3", 4, 3}, {"F4", 4, 2},      {"C64", 4, 32}};
  for (const auto& [type, elements, bytes] : types) {
    const std::string header = one_tensor(type, elements, bytes);
    const auto file =
        folder_.write("m.safetensors", file_of(header, static_cast<std::size_t>(bytes)));
    const SafetensorsReader reader(file);
    EXPECT_EQ(reader.entries().at("a").foreign_type, type);
    EXPECT_EQ(reader.entries().at("a").shape, (Shape{elements}));
    const std::string text = message_of<ConfigError>(
        [&] { reader.read("a", 0, Tensor::empty({elements}, DType::f32)); });
    EXPECT_THAT(text, AllOf(HasSubstr("m.safetensors: tensor 'a' has elements of type " + type),
                            HasSubstr("Try: "), testing::Not(HasSubstr("again"))));
    EXPECT_THAT(
        header_problem(one_tensor(type, elements, bytes + 1), static_cast<std::size_t>(bytes + 1)),
        HasSubstr("do not hold the " + std::to_string(bytes) + " bytes"));
  }
  EXPECT_EQ(header_problem(one_tensor("F64", 4, 32), 32), "");
  EXPECT_THAT(header_problem(one_tensor("F4", 3, 1), 1), HasSubstr("no whole number of bytes"));
  EXPECT_THAT(header_problem(one_tensor("F99", 1, 1), 1), testing::Not(HasSubstr("again")));
}

/// A reader that searched all tensors for each would take a minute.
TEST_F(Safetensors, AHeaderOfAHundredThousandTensorsIsReadInLinearTime) {
  std::string header = "{";
  for (int i = 0; i < 100'000; ++i) {
    header += (i == 0 ? "\"layers." : ",\"layers.") + std::to_string(i) +
              R"(.weight":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  }
  const auto file = folder_.write("m.safetensors", file_of(header + "}", 0));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(SafetensorsReader(file).entries().size(), 100'000U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST_F(Safetensors, EveryTruncationIsRefusedAndNoRandomDamageCrashes) {
  const auto file = folder_.path() / "good.safetensors";
  write_safetensors(
      file, {counting("first", {3, 2}, DType::f32, 0), counting("second", {5}, DType::bf16, 0)});
  const std::string good = folder_.read("good.safetensors");
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_NE(problem(good.substr(0, length)), "") << length << " bytes were accepted";
  }
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    std::string bad = good;
    bad[random() % bad.size()] = static_cast<char>(random() & 0xFFU);
    const auto damaged = folder_.write("m.safetensors", bad);
    try {
      const SafetensorsReader reader(damaged);
      for (const auto& [name, entry] : reader.entries()) {
        const Tensor out = Tensor::empty({entry.shape.numel()}, entry.dtype);
        reader.read(name, 0, out);
      }
    } catch (const ConfigError&) {  // naming what is wrong is right; crashing is not
    }
  }
}

TEST_F(Safetensors, FoldersWithAnIndexJoinTheirFiles) {
  const auto path = folder_.path();
  write_safetensors(path / "model-00001-of-00002.safetensors", {counting("a", {2}, DType::f32, 0)});
  write_safetensors(path / "model-00002-of-00002.safetensors",
                    {counting("b", {2}, DType::f32, 10)});
  const auto index = [&](const std::string& map) {
    folder_.write("model.safetensors.index.json", R"({"weight_map":)" + map + "}");
    return message_of<ConfigError>([&] { const SafetensorsReader reader(path); });
  };
  const std::string a = R"("a":"model-00001-of-00002.safetensors")";
  const std::string b = R"("b":"model-00002-of-00002.safetensors")";
  EXPECT_EQ(index("{" + a + "," + b + "}"), "");
  const SafetensorsReader reader(path);
  const Tensor out = Tensor::empty({1}, DType::f32);
  reader.read("b", 1, out);
  EXPECT_EQ(out.data<float>()[0], 11.0F);
  EXPECT_THAT(index("{" + a + "," + b + R"(,"stale":"model-00001-of-00002.safetensors"})"),
              HasSubstr("tensor 'stale' is not in model-00001"));
  EXPECT_THAT(index(R"({"a":"model-00002-of-00002.safetensors"})"),
              HasSubstr("tensor 'a' is not in"));
  EXPECT_THAT(index(R"({"a":"../x"})"), HasSubstr("not the name of a file beside it"));
  EXPECT_THAT(index("3"), HasSubstr("does not hold a weight_map"));
  std::filesystem::remove(path / "model.safetensors.index.json");
  EXPECT_THAT(message_of<ConfigError>([&] { const SafetensorsReader r(path); }),
              HasSubstr("holds neither model.safetensors nor"));
}

TEST_F(Safetensors, AFolderThatCannotBeWrittenToSaysSo) {
  const auto file = folder_.write("file", "x");
  EXPECT_THROW(write_safetensors(file / "m.safetensors", {counting("a", {1}, DType::f32, 0)}),
               IoError);
}

}  // namespace
}  // namespace sherd::io
