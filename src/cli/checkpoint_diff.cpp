#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/checkpoint_commands.hpp"
#include "sherd/base/printable.hpp"
#include "sherd/io/compare.hpp"

namespace sherd::cli {
namespace {

using Json = nlohmann::json;

Json json_of(const io::TensorDifference& difference) {
  const bool comparable = difference.kind_a == difference.kind_b;
  return {{"key", difference.key},
          {"a", difference.kind_a},
          {"b", difference.kind_b},
          {"differing", comparable ? Json(difference.differing) : Json()},
          {"max_abs",
           comparable && std::isfinite(difference.max_abs) ? Json(difference.max_abs) : Json()}};
}

Json json_of(const io::CheckpointReader& checkpoint) {
  return {{"path", checkpoint.folder().string()}, {"step", checkpoint.step()}};
}

void print_text(const io::CheckpointDifference& found) {
  for (const std::string& key : found.only_in_a) {
    print(fmt::format("only in A: {}\n", printable_name(key)));
  }
  for (const std::string& key : found.only_in_b) {
    print(fmt::format("only in B: {}\n", printable_name(key)));
  }
  for (const io::TensorDifference& tensor : found.tensors) {
    if (tensor.kind_a != tensor.kind_b) {
      print(fmt::format("{}: {} in A, {} in B\n", printable_name(tensor.key), tensor.kind_a,
                        tensor.kind_b));
    } else {
      print(fmt::format("{}: {} elements differ, by {:.6g} at most\n", printable_name(tensor.key),
                        tensor.differing, tensor.max_abs));
    }
  }
  for (const std::string& key : found.texts) {
    print(fmt::format("text {} differs\n", printable_name(key)));
  }
  print(fmt::format("{} tensors equal, {} differ\n", found.equal_tensors,
                    found.tensors.size() + found.only_in_a.size() + found.only_in_b.size()));
}

}  // namespace

int diff_checkpoints(const Request& request) {
  const io::CheckpointReader a(step_folder(request.checkpoint), {request.ckpt.verify});
  const io::CheckpointReader b(step_folder(request.ckpt.other), {request.ckpt.verify});
  const io::CheckpointDifference found =
      io::compare_checkpoints(a, b, {.tolerance = request.ckpt.tolerance});
  if (request.ckpt.json) {
    Json tensors = Json::array();
    for (const io::TensorDifference& tensor : found.tensors) {
      tensors.push_back(json_of(tensor));
    }
    print(Json{{"a", json_of(a)},
               {"b", json_of(b)},
               {"equal", found.equal()},
               {"equal_tensors", found.equal_tensors},
               {"only_in_a", found.only_in_a},
               {"only_in_b", found.only_in_b},
               {"tensors", std::move(tensors)},
               {"texts", found.texts}});
  } else {
    print_text(found);
  }
  return found.equal() ? 0 : 1;
}

}  // namespace sherd::cli
