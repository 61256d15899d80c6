// Pages of other sites that reach a server through the user's browser.
#pragma once

#include <optional>
#include <string_view>

#include "core/http/http_message.h"

namespace tributary::http {

// "localhost:7480", "127.0.0.1", "[::1]:7480", or the machine's own name: no page of another site has it.
bool IsOwnHost(std::string_view host);

// A page whose name resolves to 127.0.0.1 counts as the same site for a browser, and so reads what it gets
// there (DNS rebinding). 421 for a request without encryption from this machine whose Host is another name;
// nothing for all others. Whoever shows a token is no such page: the caller asks for the
// others only.
std::optional<HttpResponse> RefuseForeignHost(const HttpRequest& request);

}  // namespace tributary::http
