// What a checkpoint says of its run: how far it came, and on what data.
#include <string>
#include <vector>

#include "data/manifest.hpp"
#include "fuzz/fuzz_target.hpp"
#include "train/state.hpp"

std::vector<std::string> fuzz_seeds() {
  return {
      to_json(sherd::train::Progress{.step = 12,
                                     .optimizer_steps = 11,
                                     .loss_scale = 1024.0,
                                     .good_steps = 5,
                                     .optimizer = "adamw",
                                     .global_batch_size = 8,
                                     .sequence_length = 32,
                                     .seed = 7}),
      R"({"kind":"text","sequence_length":32,"global_batch_size":4,"order":"sequential",)"
      R"("shuffle_seed":null,"files":[{"path":"t.txt","bytes":100,"xxh3":"0123456789abcdef"}]})"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(sherd::fuzz::text_of(data, size));
  sherd::fuzz::read_or_refuse([&] { (void)sherd::train::parse_progress(text); });
  sherd::fuzz::read_or_refuse([&] {
    const std::string now = fuzz_seeds().back();
    (void)sherd::data::manifest_changes(text, now);
    (void)sherd::data::manifest_changes(now, text);
  });
  return 0;
}
