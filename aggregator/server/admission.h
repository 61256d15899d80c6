// The decision on a hello: who may report, from which sources, in which site.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "aggregator/publish/fleet.h"
#include "aggregator/server/site.h"
#include "aggregator/server/stream_refusal.h"
#include "core/wire/convert.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::server {

struct AdmittedSource {
  fusion::SourceHandle handle = 0;
  wire::FrameLimits limits;
};

struct Admission {
  Site* site = nullptr;
  publish::Fleet::Membership membership;
  std::vector<AdmittedSource> sources;  // by the index that frames use
  std::string node;                     // for the log
};

// `certificate_name`: the peer's, where TLS is on.
// InvalidArgument: a field of the hello, a source or leaf that the site does not take. NotFound: the site.
// PermissionDenied: the node is not who its certificate says. FailedPrecondition: another model or another
// length of slots, and which. ResourceExhausted: too many nodes or sources.
std::variant<Admission, StreamRefusal> Admit(const v1::Hello& hello,
                                             const std::optional<std::string>& certificate_name,
                                             const SiteTable& sites, publish::Fleet& fleet);

}  // namespace tributary::server
