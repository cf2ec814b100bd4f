#include <gmock/gmock.h>

#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "sherd/base/error.hpp"
#include "sherd/base/expand_path.hpp"
#include "sherd/base/json.hpp"
#include "sherd/base/printable.hpp"
#include "support/temp_folder.hpp"

namespace sherd {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

std::string refusal(const std::function<void()>& work) {
  return test::message_of<ConfigError>(work);
}

TEST(Printable, EscapesWhatMovesATerminal) {
  EXPECT_EQ(printable("model.w \xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"),
            "model.w \xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(printable("\x1b[31mred\r\x7f"), "\\x1b[31mred\\x0d\\x7f");
  EXPECT_EQ(printable("two\nlines\tand a tab"), "two\nlines\tand a tab");
  EXPECT_EQ(printable_name("two\nlines\t"), "two\\x0alines\\x09");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\\xc2\\x9b31m");                                 // one byte's CSI
  EXPECT_EQ(printable("a\xE2\x80\xAE"), "a\\xe2\\x80\\xae");  // right to left from here on
  EXPECT_EQ(printable("\xFF\xC3("), "\\xff\\xc3(");           // no UTF-8
  EXPECT_EQ(printable("\xC0\x9B\xED\xA0\x80"), "\\xc0\\x9b\\xed\\xa0\\x80");  // nor these
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
}

TEST(ParseJson, RefusesWhatWouldRecurse) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_NO_THROW((void)parse_json<Json>(nested(kDeepestJson), "f.json"));
  for (const int depth : {kDeepestJson + 1, 100'000, 5'000'000}) {
    EXPECT_THAT(refusal([&] { (void)parse_json<Json>(nested(depth), "f.json"); }),
                HasSubstr("f.json: its JSON is nested more than 64 deep"));
  }
}

TEST(ParseJson, BracketsInStringsDoNotNest) {
  const std::string brackets(1000, '[');
  const Json json = parse_json<Json>(R"({"a\"b": "\\", "c": ")" + brackets + R"("})", "f.json");
  EXPECT_EQ(json["c"], brackets);
}

TEST(ParseJson, NamesTheTextAndShortensTheReason) {
  const std::string message =
      refusal([] { (void)parse_json<Json>("\"" + std::string(5000, 'x'), "f.json"); });
  EXPECT_THAT(message, HasSubstr("f.json: not readable as JSON: parse error"));
  EXPECT_LT(message.size(), 300U);
  EXPECT_TRUE(parse_json_or_null<Json>("{").is_null());
  EXPECT_TRUE(parse_json_or_null<Json>(std::string(1000, '[')).is_null());
}

TEST(WholeNumber, NeverCastsSilently) {
  const auto whole = [](const char* text) {
    return whole_number<std::int64_t>(Json::parse(text), "extent");
  };
  EXPECT_EQ(whole("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(whole("-3"), -3);
  for (const char* text : {"9223372036854775808", "18446744073709551616", "1e3", "1.0", "\"1\"",
                           "null", "[1]", "true"}) {
    EXPECT_THAT(refusal([&] { (void)whole(text); }), HasSubstr("extent: ")) << text;
  }
  EXPECT_THAT(refusal([] { (void)whole_number<std::uint32_t>(Json(-1), "crc"); }),
              HasSubstr("-1 is not a whole number from 0 to 4294967295"));
}

TEST(ExpandPath, KnowsHomeAndVariables) {
  ::setenv("HOME", "/h", 1);
  ::setenv("SHERD_TEST_PLACE", "/disk", 1);
  EXPECT_EQ(expand_path("~"), "/h");
  EXPECT_EQ(expand_path("~/ck"), "/h/ck");
  EXPECT_EQ(expand_path("$SHERD_TEST_PLACE/a"), "/disk/a");
  EXPECT_EQ(expand_path("a/${SHERD_TEST_PLACE}b"), "a//diskb");
  EXPECT_EQ(expand_path("a~b/$$x"), "a~b/$x");
}

TEST(ExpandPath, RefusesWhatWouldNameAnotherPlace) {
  ::unsetenv("SHERD_TEST_NONE");
  ::setenv("SHERD_TEST_EMPTY", "", 1);
  const auto says = [](const char* path) { return refusal([&] { (void)expand_path(path); }); };
  EXPECT_THAT(says("$SHERD_TEST_NONE/a"), HasSubstr("SHERD_TEST_NONE is not set"));
  EXPECT_THAT(says("${SHERD_TEST_EMPTY}/a"), HasSubstr("SHERD_TEST_EMPTY is empty"));
  EXPECT_THAT(says("~anna/ck"), HasSubstr("not those of users by name"));
  for (const char* path : {"a$", "$(date)", "${X", "${}", "$1"}) {
    EXPECT_THAT(says(path), HasSubstr("a $ that no variable's name follows")) << path;
  }
}

}  // namespace
}  // namespace sherd
