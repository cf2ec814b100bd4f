// Token files, and the same bytes as text.
#include <cstring>
#include <string>
#include <vector>

#include "fuzz/fuzz_target.hpp"
#include "sherd/data/data_source.hpp"

namespace {

template <class T>
std::string tokens(std::size_t count, std::int32_t magic, std::int32_t version) {
  const std::int32_t header[3] = {magic, version, static_cast<std::int32_t>(count)};
  std::string file(magic == 0 ? 0 : 1024, '\0');
  if (magic != 0) {
    std::memcpy(file.data(), header, sizeof(header));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const T token = static_cast<T>(i * 7 % 200);
    file.append(reinterpret_cast<const char*>(&token), sizeof(token));
  }
  return file;
}

void read_all(const sherd::config::DataConfig& config) {
  sherd::fuzz::read_or_refuse([&] {
    const sherd::data::DataSource source(config, 256, 2, 1);
    (void)source.batch(0, {0, 2});
    (void)source.batch(1000, {0, 1});
    source.check_tokens(0, 2000, 1, 0);
    source.check_manifest(source.manifest());
  });
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  return {tokens<std::uint16_t>(100, 20240520, 1),
          tokens<std::uint32_t>(100, 20240801, 7),
          tokens<std::uint16_t>(300, 0, 0),
          std::string("\x93NUMPY\x01\0v\0", 10) +
              "{'descr': '<u2', 'fortran_order': False, 'shape': (100,)}" + std::string(270, '\n'),
          std::string("MMIDIDX\0\0\1\0\0\0\0\0\0\0\x08", 18) + std::string(200, '\1'),
          std::string("\x1f\x8b\x08\0", 4) + std::string(100, 'z')};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const sherd::fuzz::MemoryFile file(sherd::fuzz::text_of(data, size));
  sherd::config::DataConfig config;
  config.sequence_length = 8;
  config.order = size % 2 == 0 ? sherd::config::DataConfig::Order::shuffled
                               : sherd::config::DataConfig::Order::sequential;
  config.tokens = {file.path()};
  read_all(config);
  config.tokens.clear();
  config.text = {file.path()};
  read_all(config);
  return 0;
}
