// What the header of a request asks for. Included by what serves connections only.
#pragma once

#include <boost/beast/http.hpp>
#include <memory>
#include <optional>

#include "core/http/http_message.h"
#include "core/http/http_routes.h"
#include "core/http/http_service.h"

namespace tributary::http {

using HttpParser = boost::beast::http::request_parser<boost::beast::http::string_body>;

struct HttpAsked {
  HttpRequest request;
  const HttpRoute* route = nullptr;  // null: it was refused before one was found
  bool head = false;                 // HEAD: the answer has no body
  bool endless = false;              // nobody can tell where it ends: nothing after it is a request
};

// Takes what the parsed header says, finds its route, asks the gate and bounds the body that may follow.
// Nothing: the body may be read. A response refuses the request.
std::optional<HttpResponse> TakeHeader(const HttpService& service, const std::shared_ptr<HttpPeer>& peer,
                                       HttpParser& parser, HttpAsked& asked);

// The answer to bytes that are no request. Nothing: the connection is closed without one. `route`: of the
// request; null: none.
std::optional<HttpResponse> AnswerToFault(const boost::system::error_code& error, const HttpRoute* route);

}  // namespace tributary::http
