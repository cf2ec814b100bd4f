// COMMITTED.json, as it is and with a digest that fits the damage: a digest finds accidents alone.
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "fuzz/fuzz_target.hpp"
#include "io/disk/crc32c.hpp"
#include "io/format/manifest.hpp"
#include "sherd/base/json.hpp"

namespace {

constexpr const char* kDigest = "manifest_crc32c";

std::vector<sherd::io::PieceRecord> pieces(bool in_blocks) {
  using sherd::dtensor::Block;
  if (in_blocks) {
    return {{0, 1, 4096, 0, 6, 7, Block{{0, 0}, {2, 3}}, {1}},
            {1, 1, 8192, 0, 6, 8, Block{{2, 0}, {2, 3}}, {2}}};
  }
  return {{0, 1, 4096, 0, 7, 0}, {1, 1, 8192, 7, 5, 0}};
}

sherd::io::Manifest sample(bool in_blocks) {
  sherd::io::Manifest manifest;
  manifest.step = 12;
  manifest.world_size = 2;
  manifest.files = {{"index.h5", 4096, 1}, {"shards/node-00000.h5", 10000, 2}};
  manifest.tensors = {{"model.w",
                       "w",
                       sherd::Shape{4, 3},
                       sherd::DType::f32,
                       sherd::dtensor::Placement::sharded,
                       true,
                       {"model.tied"},
                       pieces(in_blocks)}};
  manifest.blobs = {{"random", 0, 1, 9000, 16, 0}};
  manifest.texts = {{"config", 2048, 100, 128}};
  manifest.timing = {{0, 1, 2, 3, 4, 5, 6}};
  return manifest;
}

/// The same text with the digest that belongs to it; as it is when it is no JSON.
std::string signed_again(std::string_view text) {
  auto json = sherd::parse_json_or_null<nlohmann::json>(text);
  if (!json.is_object()) {
    return std::string(text);
  }
  json.erase(kDigest);
  const std::string body = json.dump();
  json[kDigest] = sherd::io::crc32c(std::as_bytes(std::span(body)));
  return json.dump(1) + "\n";
}

}  // namespace

std::vector<std::string> fuzz_seeds() { return {to_json(sample(false)), to_json(sample(true))}; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = sherd::fuzz::text_of(data, size);
  sherd::fuzz::read_or_refuse([&] { (void)sherd::io::parse_manifest(text, "m.json"); });
  sherd::fuzz::read_or_refuse([&] {
    const auto manifest = sherd::io::parse_manifest(signed_again(text), "m.json");
    (void)sherd::io::parse_manifest(to_json(manifest), "again.json");
  });
  return 0;
}
