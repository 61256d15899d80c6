// Who makes a call, as the certificate says.
#pragma once

#include <string>

#include "core/config/revocation_list.h"

namespace tributary::access {

struct Peer {
  std::string name;                        // its common name; empty: it has none
  config::CertificateId certificate = {};  // empty: not known, and refused while a list is in force
};

}  // namespace tributary::access
