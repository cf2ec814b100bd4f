#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sherd/autograd/function.hpp"
#include "sherd/base/dtype.hpp"
#include "sherd/nn/module.hpp"

/// What an architecture is to the rest of the program. Only the files of a family know which
/// sizes its models have and what their modules do.
namespace sherd::models {

/// The sizes of one model: a value of a type that only its family knows.
using Sizes = std::any;

using FieldValue = std::variant<std::int64_t, double, bool>;

/// A size: a key of the same name in the configuration's section `model`. The kind of its value is
/// the alternative that `get` gives.
struct Field {
  std::string name;
  std::string meaning;  ///< for messages and documents
  std::string example;  ///< a value worth trying
  std::function<FieldValue(const Sizes&)> get;
  std::function<void(Sizes&, const FieldValue&)> set;
  std::int64_t minimum = 1;  ///< of whole numbers
  std::int64_t maximum = std::int64_t{1} << 24;
  double real_minimum = 0.0;
  bool real_minimum_excluded = false;
  /// Whether what the model computes from given weights depends on it. A resume with another value
  /// is refused then; else it is said and goes on.
  bool arithmetic = true;
};

/// The field of a struct's member.
template <class Struct, class Member>
[[nodiscard]] Field field(std::string name, std::string meaning, std::string example,
                          Member Struct::*member) {
  Field result;
  result.name = std::move(name);
  result.meaning = std::move(meaning);
  result.example = std::move(example);
  result.get = [member](const Sizes& sizes) {
    return FieldValue(std::any_cast<const Struct&>(sizes).*member);
  };
  result.set = [member](Sizes& sizes, const FieldValue& value) {
    std::any_cast<Struct&>(sizes).*member = std::get<Member>(value);
  };
  return result;
}

struct Preset {
  std::string name;
  Sizes sizes;
};

/// What a program must know of a decoder to feed it: a module from i32 token ids [batch, seq] to
/// logits [batch, seq, vocab_size].
struct DecoderFacts {
  std::int64_t vocab_size = 0;
  std::int64_t longest_sequence = 0;
  std::string longest_sequence_key;  ///< the field that says so
  std::int64_t blocks = 0;           ///< elements of the module's list "layers"
  std::int64_t parameters = 0;
};

/// Two names of one tensor in Hugging Face's files.
struct TiedTensors {
  std::string name;
  std::string same_as;
};

/// The largest micro-batch of a rank, as a plan sees it.
struct MicroBatch {
  std::int64_t sequences = 1;
  std::int64_t sequence_length = 1;
  DType dtype = DType::f32;  ///< the model computes in
};

/// Tensors that live from a forward operation to its backward, and how their size follows from the
/// model's (T tokens, S tokens a sequence, e bytes an element; the family names its other letters).
struct KeptTensors {
  std::string what;
  std::string formula;
  std::size_t bytes = 0;
};
struct KeptTables {
  std::vector<KeptTensors> block;  ///< of one block without checkpointing
  std::vector<KeptTensors> root;   ///< beside the blocks
};

/// What config.json is read for: plans take more than training can do, as long as no byte changes.
enum class ReadFor : std::uint8_t { running, planning };

/// One architecture. All functions are local; those that take Sizes take what `defaults` or `parse`
/// of the same family gave.
struct ModelFamily {
  std::string name;           ///< config.json's model_type
  std::string architecture;   ///< the one element of config.json's architectures
  std::vector<Field> fields;  ///< in the order in which the resolved configuration shows them
  std::vector<Preset> presets;
  std::function<Sizes()> defaults;
  /// Throws ConfigError naming the field that makes no sense.
  std::function<void(const Sizes&)> check;
  std::function<DecoderFacts(const Sizes&)> facts;
  /// Of a config.json's text; `where` names it in messages. Throws ConfigError naming the key.
  std::function<Sizes(const std::string& json, const std::string& where, ReadFor)> parse;
  /// The config.json; `weights` is the dtype of the files beside it.
  std::function<std::string(const Sizes&, DType weights)> write;
  /// The module without memory, its blocks in a child "layers". With `recompute` every block is
  /// computed again in backward.
  std::function<std::shared_ptr<nn::Module>(const Sizes&, std::optional<autograd::Recompute>)> make;
  /// What a plan explains of the activations. Without it, plans show sums as they were counted.
  std::function<KeptTables(const Sizes&, const MicroBatch&)> kept = {};
  /// Hugging Face's name of a parameter; by default the same.
  std::function<std::string(std::string_view parameter)> hf_name = [](std::string_view parameter) {
    return std::string(parameter);
  };
  /// Names in Hugging Face's files that end so are no parameters, and are passed over.
  std::vector<std::string> hf_ignored_endings = {};
  /// A tensor that files may hold beside the one it is tied to; none by default.
  std::function<std::optional<TiedTensors>(const Sizes&)> hf_tied = [](const Sizes&) {
    return std::optional<TiedTensors>();
  };
};

/// A family and the sizes of one of its models. A value; the default is that of the first family.
class ModelSpec {
 public:
  ModelSpec();
  ModelSpec(const ModelFamily& family, Sizes sizes);

  [[nodiscard]] const ModelFamily& family() const noexcept { return *family_; }
  [[nodiscard]] const Sizes& sizes() const noexcept { return sizes_; }
  [[nodiscard]] Sizes& sizes() noexcept { return sizes_; }

  void check() const { family_->check(sizes_); }
  [[nodiscard]] DecoderFacts facts() const { return family_->facts(sizes_); }
  [[nodiscard]] std::string write(DType weights = DType::f32) const {
    return family_->write(sizes_, weights);
  }
  [[nodiscard]] std::shared_ptr<nn::Module> make(
      std::optional<autograd::Recompute> recompute = std::nullopt) const {
    return family_->make(sizes_, recompute);
  }

 private:
  const ModelFamily* family_;  // in the registry, which never forgets one
  Sizes sizes_;
};

/// Makes a family known to everything that reads configurations, config.json and checkpoints. Call
/// before any of them, from one thread. Throws ConfigError when the name is taken.
const ModelFamily& register_family(ModelFamily family);

/// nullptr when there is none of that name.
[[nodiscard]] const ModelFamily* find_family(const std::string& name);
/// The family whose fields hold most of `names`, the first of several: so a configuration's fields
/// say which family they mean.
[[nodiscard]] const ModelFamily& family_of_fields(const std::vector<std::string>& names);

/// The presets of all families.
[[nodiscard]] std::vector<std::string> preset_names();
[[nodiscard]] std::optional<ModelSpec> find_preset(const std::string& name);

/// The model that a config.json describes. Its model_type, else its architectures, chooses the
/// family; without either the first one reads it, and complains. Throws ConfigError.
[[nodiscard]] ModelSpec parse_model(const std::string& json, const std::string& where,
                                    ReadFor purpose = ReadFor::running);
/// The same of a file.
[[nodiscard]] ModelSpec read_model(const std::filesystem::path& file,
                                   ReadFor purpose = ReadFor::running);

}  // namespace sherd::models
