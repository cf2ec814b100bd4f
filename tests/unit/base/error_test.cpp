#include "sherd/base/error.hpp"

#include <gtest/gtest.h>

#include <string>

#include "sherd/base/check.hpp"

namespace sherd {
namespace {

TEST(Error, KnowsWhereItWasThrown) {
  const int line = __LINE__ + 2;
  try {
    throw IoError("gone");
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "gone");
    EXPECT_EQ(error.where().line, line);
    EXPECT_NE(std::string(error.where().file).find("error_test.cpp"), std::string::npos);
  }
}

TEST(Check, ThrowsOnlyWhenItDoesNotHold) {
  expect(true, "fine");
  validate(true, "fine");
  EXPECT_THROW(expect(false, "wrong"), ArgumentError);
  EXPECT_THROW(validate(false, "wrong"), ConfigError);
}

TEST(Check, NamesTheCallersLine) {
  const int line = __LINE__ + 2;
  try {
    expect(false, "wrong");
  } catch (const ArgumentError& error) {
    EXPECT_EQ(error.where().line, line);
  }
}

}  // namespace
}  // namespace sherd
