// TrainingRun: the weights of model.init_from, where there is nothing to resume from.
#include "sherd/comm/agree.hpp"
#include "sherd/comm/facts.hpp"
#include "train/run.hpp"
#include "train/weights_facts.hpp"

namespace sherd::train {

void TrainingRun::open_weights() {
  if (config_.model.init_from.empty() || weights_) {
    return;
  }
  std::vector<comm::Fact> facts;
  comm::all_or_config_error(ranks(), [&] {
    weights_.emplace(config_.model.init_from, config_.model.spec);
    facts = weights_facts(*weights_, config_);
  });
  comm::require_same_facts(
      world(), runtime_.rank(), facts,
      {"the model would be a mixture", "the same files in model.init_from on all nodes"});
}

/// The first weights of a run that resumes from nothing.
void TrainingRun::fill_from_weights() {
  if (config_.model.init_from.empty()) {
    return;
  }
  open_weights();
  comm::all_or_config_error(ranks(), [&] {
    for (const auto& [key, tensor] : model_->state_dict().tensors) {
      const Tensor& place = tensor.local;
      const Tensor out = place.is_on_device() ? Tensor::zeros(place.shape(), place.dtype()) : place;
      if (tensor.spec.numel > 0) {
        weights_->fill(tensor.spec.name, tensor.spec.offset, out);
      }
      if (place.is_on_device()) {
        copy(out, place);
      }
    }
  });
  weights_.reset();
  model_->parameters_changed();
}

}  // namespace sherd::train
