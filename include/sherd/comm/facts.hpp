#pragma once

#include <string>
#include <vector>

#include "sherd/comm/communicator.hpp"

/// What ranks must have in common before they work together.
namespace sherd::comm {

/// Something with a name, and what it is on this rank, as a message shows it.
struct Fact {
  std::string name;
  std::string value;
};

/// How the message about ranks that differ ends.
struct FactsAdvice {
  std::string why;         ///< "they would train apart"
  std::string suggestion;  ///< after "Try: "
};

/// Collective, blocking, on host memory; `rank` is this rank's number in messages. Where ranks have
/// different facts (another value, or one that others lack), every rank throws ConfigError with the
/// same one line: each name that differs, its values, and which ranks have which. Values travel
/// only then, from one rank of each kind; before that a hash of each rank does.
void require_same_facts(Communicator& comm, int rank, const std::vector<Fact>& facts,
                        const FactsAdvice& advice);

}  // namespace sherd::comm
