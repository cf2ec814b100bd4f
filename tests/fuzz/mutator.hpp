#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace sherd::fuzz {

/// Makes damaged inputs out of good ones; the same in every run. Most of the changes are those that
/// files of numbers, names and brackets do not survive: lengths that lie, numbers at the ends of
/// their types, parts that are there twice or not at all.
class Mutator {
 public:
  explicit Mutator(std::vector<std::string> seeds) : seeds_(std::move(seeds)) {}

  [[nodiscard]] std::string next();

 private:
  /// 0 .. limit-1
  std::size_t below(std::size_t limit);
  void change(std::string& text);
  void change_bytes(std::string& text);
  void change_word(std::string& text);
  void replace_number(std::string& text);
  void move_stretch(std::string& text);
  void nest(std::string& text);

  std::vector<std::string> seeds_;
  std::mt19937_64 random_{20240501};
};

}  // namespace sherd::fuzz
