#include "support/reference_case.hpp"

#include <hdf5.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "sherd/base/error.hpp"

namespace sherd::test {
namespace {

std::string without_prefix(const std::string& name) {
  return name.rfind("model.", 0) == 0 ? name.substr(6) : name;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw IoError("cannot open " + path);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

models::LlamaConfig read_config(const std::string& folder) {
  const auto json = nlohmann::json::parse(read_file(folder + "/config.json"));
  models::LlamaConfig config;
  config.vocab_size = json.at("vocab_size");
  config.hidden_size = json.at("hidden_size");
  config.intermediate_size = json.at("intermediate_size");
  config.num_hidden_layers = json.at("num_hidden_layers");
  config.num_attention_heads = json.at("num_attention_heads");
  config.num_key_value_heads = json.at("num_key_value_heads");
  config.max_position_embeddings = json.at("max_position_embeddings");
  config.rms_norm_eps = json.at("rms_norm_eps");
  config.rope_theta = json.at("rope_theta");
  config.tie_word_embeddings = json.at("tie_word_embeddings");
  return config;
}

/// The file is an 8-byte header length, a JSON header, then the data.
std::map<std::string, Tensor> read_weights(const std::string& folder) {
  const std::string bytes = read_file(folder + "/model.safetensors");
  std::uint64_t header_bytes = 0;
  std::copy_n(bytes.data(), sizeof header_bytes, reinterpret_cast<char*>(&header_bytes));
  const auto header = nlohmann::json::parse(bytes.substr(8, header_bytes));
  std::map<std::string, Tensor> weights;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      continue;
    }
    const Shape shape(entry.at("shape").get<std::vector<std::int64_t>>());
    const Tensor tensor = Tensor::empty(shape, DType::f32);
    const auto first = entry.at("data_offsets").at(0).get<std::size_t>();
    std::copy_n(bytes.data() + 8 + header_bytes + first, tensor.nbytes(),
                reinterpret_cast<char*>(tensor.raw()));
    weights.emplace(without_prefix(name), tensor);
  }
  return weights;
}

std::int64_t read_integer(hid_t file, const char* name) {
  std::int64_t value = 0;
  const hid_t attribute = H5Aopen(file, name, H5P_DEFAULT);
  const bool good = H5Aread(attribute, H5T_NATIVE_INT64, &value) >= 0;
  H5Aclose(attribute);
  if (!good) {
    throw IoError(std::string("cannot read the attribute ") + name);
  }
  return value;
}

void read_dataset(hid_t file, const std::string& name, hid_t type, void* into) {
  const hid_t dataset = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
  const bool good = H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, into) >= 0;
  H5Dclose(dataset);
  if (!good) {
    throw IoError("cannot read the dataset " + name);
  }
}

void read_expected(const std::string& folder, ReferenceCase& result) {
  const hid_t file = H5Fopen((folder + "/expected.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  result.batch = read_integer(file, "global_batch");
  result.seq = read_integer(file, "seq_len");
  result.loss.resize(static_cast<std::size_t>(read_integer(file, "steps")));
  read_dataset(file, "loss", H5T_NATIVE_DOUBLE, result.loss.data());
  for (const auto& [name, weight] : result.weights) {
    const Tensor gradient = Tensor::empty(weight.shape(), DType::f32);
    const std::string prefix = name == "lm_head.weight" ? "" : "model.";
    read_dataset(file, "grad_step0/" + prefix + name, H5T_NATIVE_FLOAT, gradient.raw());
    result.grad_step0.emplace(name, gradient);
  }
  H5Fclose(file);
}

}  // namespace

Tensor ReferenceCase::window(std::size_t shift, Shape shape) const {
  const Tensor ids = Tensor::empty(std::move(shape), DType::i32);
  for (std::size_t i = 0; i < ids.span<std::int32_t>().size(); ++i) {
    ids.span<std::int32_t>()[i] = tokens.at(i + shift);
  }
  return ids;
}

ReferenceCase load_reference(const std::string& name) {
  const std::string folder = std::string(SHERD_TEST_DATA) + "/reference/" + name;
  ReferenceCase result;
  result.config = read_config(folder);
  result.weights = read_weights(folder);
  const std::string bytes = read_file(folder + "/tokens.bin");
  result.tokens.resize(bytes.size() / 2);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(result.tokens.data()));
  read_expected(folder, result);
  return result;
}

double relative_distance(const Tensor& a, const Tensor& b) {
  const Tensor wide_a = to_dtype(a, DType::f64);
  const Tensor wide_b = to_dtype(b, DType::f64);
  double difference = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < wide_b.span<double>().size(); ++i) {
    const double expected = wide_b.span<double>()[i];
    difference += std::pow(wide_a.span<double>()[i] - expected, 2);
    norm += expected * expected;
  }
  return std::sqrt(difference / norm);
}

}  // namespace sherd::test
