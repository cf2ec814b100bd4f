#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "sherd/base/error.hpp"
#include "sherd/io/safetensors.hpp"
#include "sherd/models/llama_hf.hpp"
#include "sherd/weights/hf_weights.hpp"
#include "support/temp_folder.hpp"

namespace sherd::weights {
namespace {

using test::message_of;
using test::TempFolder;
using testing::AllOf;
using testing::HasSubstr;

const std::filesystem::path kReference = std::filesystem::path(SHERD_TEST_DATA) / "reference";

nlohmann::json reference_config() {
  return nlohmann::json::parse(models::to_hf_config(
      models::llama_config(models::read_model(kReference / "llama" / "config.json"))));
}

std::string problem(const nlohmann::json& json) {
  return message_of<ConfigError>(
      [&] { (void)models::parse_hf_config(json.dump(), "config.json"); });
}

TEST(HfConfig, ReadsTheReference) {
  const models::LlamaConfig config =
      models::llama_config(models::read_model(kReference / "llama" / "config.json"));
  EXPECT_EQ(config.hidden_size, 32);
  EXPECT_EQ(config.num_key_value_heads, 2);
  EXPECT_EQ(config.rms_norm_eps, 1e-5);
  EXPECT_FALSE(config.tie_word_embeddings);
  EXPECT_TRUE(models::llama_config(models::read_model(kReference / "llama_tied" / "config.json"))
                  .tie_word_embeddings);
}

TEST(HfConfig, WrittenOnesReadBackTheSame) {
  models::LlamaConfig config =
      models::llama_config(models::read_model(kReference / "llama" / "config.json"));
  config.head_dim = 16;
  config.rope_theta = 500000.0;
  config.attention_bias = true;
  config.tie_word_embeddings = true;
  const std::string text = models::to_hf_config(config, DType::bf16);
  EXPECT_EQ(models::to_hf_config(models::parse_hf_config(text, ""), DType::bf16), text);
  EXPECT_EQ(nlohmann::json::parse(text)["torch_dtype"], "bfloat16");
}

TEST(HfConfig, RopeOfBothGenerationsIsRead) {
  auto json = reference_config();
  json["rope_theta"] = 5000.0;
  EXPECT_EQ(models::parse_hf_config(json.dump(), "").rope_theta, 5000.0);
  json.erase("rope_theta");
  json["rope_parameters"] = {{"rope_theta", 7000.0}, {"rope_type", "default"}};
  EXPECT_EQ(models::parse_hf_config(json.dump(), "").rope_theta, 7000.0);
  json["rope_parameters"]["rope_type"] = "yarn";
  EXPECT_THAT(problem(json), AllOf(HasSubstr("rope_parameters.rope_type"), HasSubstr("\"yarn\"")));
  json.erase("rope_parameters");
  json["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};
  EXPECT_THAT(problem(json), HasSubstr("\"linear\" is not supported"));
}

TEST(HfConfig, OtherModelsAreRefusedByKey) {
  const std::vector<std::pair<const char*, nlohmann::json>> cases = {
      {"hidden_act", "gelu"},
      {"model_type", "mistral"},
      {"vocab_size", "many"},
      {"hidden_size", nullptr},
      {"rms_norm_eps", "x"},
      {"tie_word_embeddings", 1},
      {"architectures", {"GPT2LMHeadModel"}}};
  for (const auto& [key, value] : cases) {
    auto json = reference_config();
    json[key] = value;
    EXPECT_THAT(problem(json), HasSubstr(std::string("config.json: ") + key)) << key;
  }
  EXPECT_THAT(message_of<ConfigError>([] { (void)models::parse_hf_config("{", "c"); }),
              HasSubstr("JSON"));
  EXPECT_THAT(message_of<ConfigError>([] { (void)models::parse_hf_config("[]", "c"); }),
              HasSubstr("object"));
}

TEST(HfConfig, LeftOutKeysTakeTheFormatsDefaults) {
  auto json = reference_config();
  json.erase("num_key_value_heads");
  json.erase("rms_norm_eps");
  json.erase("head_dim");
  const models::LlamaConfig config = models::parse_hf_config(json.dump(), "");
  EXPECT_EQ(config.num_key_value_heads, config.num_attention_heads);
  EXPECT_EQ(config.rms_norm_eps, 1e-6);
  EXPECT_EQ(config.resolved_head_dim(), 8);
}

/// A copy of the reference weights with changes.
class Weights : public testing::Test {
 protected:
  void load(const std::filesystem::path& from) {
    config_ = models::llama_config(models::read_model(from / "config.json"));
    reader_ = std::make_unique<io::SafetensorsReader>(from / "model.safetensors");
    for (const auto& [name, entry] : reader_->entries()) {
      tensors_.emplace(name, entry.shape);
    }
  }
  /// Writes tensors_ with values from the reference where it has the name, else `other`.
  std::string check(float other = 0.0F) {
    std::vector<io::SafetensorsSource> sources;
    for (const auto& [name, shape] : tensors_) {
      sources.push_back({name, shape, DType::f32,
                         [this, key = name, other](std::int64_t first, const Tensor& out) {
                           if (reader_->entries().count(key) != 0) {
                             reader_->read(key, first, out);
                           } else {
                             std::fill_n(out.data<float>(), out.numel(), other);
                           }
                         }});
    }
    io::write_safetensors(folder_.path() / "model.safetensors", sources);
    return message_of<ConfigError>(
        [&] { const HfWeights weights(folder_.path(), models::llama_model(config_)); });
  }

  TempFolder folder_;
  models::LlamaConfig config_;
  std::unique_ptr<io::SafetensorsReader> reader_;
  std::map<std::string, Shape> tensors_;
};

TEST_F(Weights, NamesAndRangesAreMapped) {
  const HfWeights weights(kReference / "llama",
                          models::read_model(kReference / "llama/config.json"));
  const io::SafetensorsReader reader(kReference / "llama");
  for (const auto& [ours, theirs] : std::map<std::string, std::string>{
           {"layers.1.mlp.up_proj.weight", "model.layers.1.mlp.up_proj.weight"},
           {"lm_head.weight", "lm_head.weight"}}) {
    EXPECT_EQ(models::hf_name(ours), theirs);
    const Tensor a = Tensor::empty({5}, DType::f32);
    const Tensor b = Tensor::empty({5}, DType::f32);
    weights.fill(ours, 33, a);
    reader.read(theirs, 33, b);
    EXPECT_TRUE(std::equal(a.data<float>(), a.data<float>() + 5, b.data<float>()));
  }
}

TEST_F(Weights, EveryMissingExtraAndWrongTensorIsNamed) {
  load(kReference / "llama");
  EXPECT_EQ(check(), "");
  tensors_.erase("model.norm.weight");
  tensors_["model.extra.weight"] = Shape{3};
  tensors_["model.layers.0.self_attn.q_proj.weight"] = Shape{16, 64};
  tensors_["model.layers.0.self_attn.rotary_emb.inv_freq"] = Shape{4};
  EXPECT_THAT(check(), AllOf(HasSubstr("tensor 'model.norm.weight' is missing"),
                             HasSubstr("tensor 'model.extra.weight' is not part of the model"),
                             HasSubstr("'model.layers.0.self_attn.q_proj.weight' has shape [16, "
                                       "64], config.json says [32, 32]"),
                             testing::Not(HasSubstr("inv_freq"))));
}

/// A file in which all tensors have elements of one byte.
std::string of_bytes(const std::map<std::string, Shape>& tensors, const std::string& dtype) {
  nlohmann::json header;
  std::int64_t end = 0;
  for (const auto& [name, shape] : tensors) {
    header[name] = {
        {"dtype", dtype}, {"shape", shape.extents()}, {"data_offsets", {end, end + shape.numel()}}};
    end += shape.numel();
  }
  const std::string text = header.dump();
  std::string file(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    file[i] = static_cast<char>((text.size() >> (8 * i)) & 0xFFU);
  }
  return file + text + std::string(static_cast<std::size_t>(end), '\1');
}

TEST_F(Weights, QuantisedOnesAreRefusedByTypeNotAsDamage) {
  load(kReference / "llama");
  for (const char* type : {"F8_E4M3", "I8", "U8"}) {
    folder_.write("model.safetensors", of_bytes(tensors_, type));
    EXPECT_THAT(
        message_of<ConfigError>(
            [&] { const HfWeights weights(folder_.path(), models::llama_model(config_)); }),
        AllOf(HasSubstr("model.safetensors: tensor 'lm_head.weight' is of type "),
              HasSubstr("and 20 more"), HasSubstr("a quantised model"),
              HasSubstr("Try: the model's bf16 version"), testing::Not(HasSubstr("again"))));
  }
}

TEST_F(Weights, OfAnotherModelTheFirstFewDifferencesAreTold) {
  load(kReference / "llama");
  for (int i = 0; i < 30; ++i) {
    tensors_["extra." + std::to_string(i)] = Shape{1};
  }
  const std::string text = check();
  EXPECT_THAT(text, AllOf(HasSubstr("model.safetensors: tensor 'extra.0' is not part"),
                          HasSubstr("; and 10 more. Try: ")));
}

TEST_F(Weights, ATiedHeadMayBeAbsentOrEqual) {
  load(kReference / "llama_tied");
  EXPECT_EQ(tensors_.count("lm_head.weight"), 0U);
  EXPECT_EQ(check(), "");
  tensors_["lm_head.weight"] = tensors_.at("model.embed_tokens.weight");
  EXPECT_THAT(check(0.25F), HasSubstr("'lm_head.weight' differs from model.embed_tokens.weight"));
  load(kReference / "llama");  // untied: the head is one of the tensors
  tensors_.erase("lm_head.weight");
  EXPECT_THAT(check(), HasSubstr("tensor 'lm_head.weight' is missing"));
}

}  // namespace
}  // namespace sherd::weights
