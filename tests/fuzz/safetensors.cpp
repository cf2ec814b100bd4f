// Safetensors files: header, metadata, and what the header says lies where.
#include <cstring>
#include <string>
#include <vector>

#include "fuzz/fuzz_target.hpp"
#include "io/whole/safetensors/header.hpp"
#include "sherd/io/safetensors.hpp"

namespace {

std::string file_of(const std::string& header, std::size_t body) {
  const std::uint64_t length = header.size();
  std::string file(sizeof(length), '\0');
  std::memcpy(file.data(), &length, sizeof(length));
  return file + header + std::string(body, 'b');
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  return {file_of(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                  R"("b":{"dtype":"BF16","shape":[],"data_offsets":[24,26]}})",
                  26),
          file_of(R"({"__metadata__":{"format":"pt"},)"
                  R"("x.weight":{"dtype":"I64","shape":[0,7],"data_offsets":[0,0]}}  )",
                  0),
          file_of("{}", 0)};
}

namespace {

void read_file(std::string_view content) {
  const sherd::fuzz::MemoryFile file(content);
  sherd::fuzz::read_or_refuse([&] {
    const sherd::io::SafetensorsReader reader(file.path());
    for (const auto& [name, entry] : reader.entries()) {
      if (entry.shape.numel() > 0) {
        reader.read(name, entry.shape.numel() - 1, sherd::Tensor::empty({1}, entry.dtype));
      }
    }
  });
  sherd::fuzz::read_or_refuse([&] { (void)sherd::io::read_safetensors_metadata(file.path()); });
}

}  // namespace

/// Reads the bytes as they are, then with a length before them that fits: few changes leave one.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = sherd::fuzz::text_of(data, size);
  read_file(text);
  if (const auto begin = text.find('{'), end = text.rfind('}');
      begin != text.npos && end != text.npos && begin < end) {
    const std::size_t body = text.size() - end - 1;
    read_file(file_of(std::string(text.substr(begin, end + 1 - begin)), body));
  }
  return 0;
}
