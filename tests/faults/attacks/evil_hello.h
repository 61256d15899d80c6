// The declaration of an attacker's node.
#pragma once

#include <fmt/format.h>

#include <string>

#include "core/wire/hello.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::testing {

// With so many sources of the site "room" from `first_source` on.
inline std::string EvilHello(const std::string& node, int first_source, int sources) {
  v1::ReportRequest request;
  v1::Hello& hello = *request.mutable_hello();
  hello.set_site("room");
  hello.set_node(node);
  hello.set_boot_id(wire::NewBootId());
  for (int i = 0; i < sources; ++i) {
    wire::AddSource(hello, fmt::format("evil-{}", first_source + i), 2, {"spare"});
  }
  return request.SerializeAsString();
}

}  // namespace tributary::testing
