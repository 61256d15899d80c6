// Decides on a hello: which node may report from which sources in which site.
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
  std::vector<AdmittedSource> sources;  // by the index in frames
  std::string node;                     // for the log
};

// `certificate_name`: the peer's, with TLS. InvalidArgument: a bad field of the hello, or a source or leaf
// that the site does not accept. NotFound: the site. PermissionDenied: the node's name is not its
// certificate's. FailedPrecondition: another model or another length of slots, naming both.
// ResourceExhausted: too many nodes or sources.
std::variant<Admission, StreamRefusal> Admit(const v1::Hello& hello,
                                             const std::optional<std::string>& certificate_name,
                                             const SiteTable& sites, publish::Fleet& fleet);

}  // namespace tributary::server
