// The dashboard: a page whose files are built into the program.
#pragma once

#include <span>
#include <string_view>

#include "core/http/http_server.h"

namespace tributary::publish {

struct PageFile {
  std::string_view path;  // "/": the page; others are below /assets/ and have a digest in their name
  std::string_view content_type;
  std::string_view digest;  // of what was built, hexadecimal; that of "/" names the build
  std::string_view plain;
  std::string_view gzip;  // empty: not smaller
};

// The files of this build; dashboard/embed.py writes them.
std::span<const PageFile> PageFiles();

// Serves the files, compressed for whom accepts that, with headers that let the browser load nothing from
// elsewhere and run no inline script. Every answer of the server names the build in the header
// Tributary-Page: a page of another build then asks to be loaded again. `files` outlive the server.
void AddPageRoutes(http::HttpServer& server, std::span<const PageFile> files);

}  // namespace tributary::publish
