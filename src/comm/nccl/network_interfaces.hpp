#pragma once

#include <string>

namespace sherd::comm {

/// "ib0 (10.0.0.3), eth0 (192.168.1.7)": this host's interfaces that are up, other than loopback.
[[nodiscard]] std::string network_interfaces();

}  // namespace sherd::comm
