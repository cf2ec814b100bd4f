// YAML texts that hold more than one document, or none that ends.
#include "config/only_document.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "sherd/base/printable.hpp"

namespace sherd::config {
namespace {

constexpr int kMostDocuments = 64;

/// Notes where each document that says something begins.
class DocumentCounter : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    ++count_;
    last_ = mark;
    empty_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { note(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    note(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    note(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    note(mark);
  }
  void OnMapEnd() override {}

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] const YAML::Mark& last() const { return last_; }
  [[nodiscard]] const std::vector<YAML::Mark>& starts() const { return starts_; }

 private:
  void note(const YAML::Mark& mark) {
    if (empty_) {
      starts_.push_back(mark);
    }
    empty_ = false;
  }

  int count_ = 0;
  bool empty_ = true;
  YAML::Mark last_;
  std::vector<YAML::Mark> starts_;
};

}  // namespace

OnlyDocument only_document(const std::string& text) {
  std::istringstream in(text);
  YAML::Parser parser(in);
  DocumentCounter counter;
  while (parser.HandleNextDocument(counter)) {
    if (counter.starts().size() > 1) {
      return {YAML::Node(), counter.starts()[1].line + 1};
    }
    // What begins no document, such as a comma, is found as an empty one again and again.
    if (counter.count() == kMostDocuments) {
      throw YAML::ParserException(counter.last(), "there is something that begins no document");
    }
  }
  OnlyDocument found;
  for (const YAML::Node& document : YAML::LoadAll(text)) {
    if (!document.IsNull()) {
      found.node.reset(document);
    }
  }
  return found;
}

std::string reason_of(const YAML::Exception& error) {
  return error.msg == YAML::ErrorMsg::BAD_FILE ? "it is nested too deep" : error.msg;
}

std::string problem_of_text(const std::string& text) {
  if (!is_utf8(text)) {
    return "it is not text in UTF-8";
  }
  const auto odd = std::find_if(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
  });
  return odd == text.end() ? std::string()
                           : fmt::format("it holds the control character 0x{:02x}",
                                         static_cast<unsigned char>(*odd));
}

}  // namespace sherd::config
