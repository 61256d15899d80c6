#include <fmt/chrono.h>
#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/join/held_certificates.h"
#include "cli/join/https_client.h"
#include "cli/join/invitation.h"
#include "cli/owned_output.h"
#include "core/certificates/new_certificate.h"
#include "core/certificates/signing_request.h"
#include "core/config/pem.h"
#include "core/config/tls.h"
#include "core/runtime/plain_file.h"
#include "core/runtime/printable.h"
#include "core/runtime/process.h"
#include "core/status/macros.h"
#include "core/wire/json.h"
#include "core/wire/peer.h"
#include "tributary/v1/certificate.pb.h"

namespace tributary::cli {
namespace {

constexpr const char* kJoinExamples = R"(Examples:
  tributary join 'TOKEN' --out certs
  tributary join 'TOKEN' --name east --out /var/lib/tributary/certs

TOKEN is the line that `tributary token invite` printed. The board makes its key here; the key never leaves it.
The board checks the aggregator by the hash of the authority in the token before it sends the token. Then it gets
its certificate. Put the [tls] table that is printed into the node's configuration. If an answer is lost, run the
command again: the same board gets the same name. A valid certificate in the folder
is not replaced: remove it first.)";

struct JoinArguments {
  std::string token;
  std::string name;
  std::string out = "certs";
  bool json = false;
};

// Until the board knows its name.
constexpr char kKeyFile[] = "join.key";

absl::Status MakeFolder(const std::string& folder) {
  std::filesystem::path made = folder;
  if (!made.has_filename()) made = made.parent_path();  // "certs/"
  std::error_code error;
  if (std::filesystem::create_directories(made, error)) return GiveToFolderOwner(made.string());
  if (!error) return absl::OkStatus();
  return WithExitCode(absl::UnknownError(fmt::format("{}: {}", folder, error.message())),
                      runtime::kExitCantCreate);
}

// Before the aggregator is asked, so that nothing is given that cannot be kept.
absl::Status CheckFiles(const std::string& folder, const std::string& name) {
  for (const char* file : {kKeyFile, "ca.pem"}) RETURN_IF_ERROR(CheckPlainOutput(folder + "/" + file));
  if (name.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckPlainOutput(folder + "/" + name + ".key"));
  return CheckPlainOutput(folder + "/" + name + ".pem");
}

// The daemon must be able to read what root makes.
absl::Status WriteIn(const std::string& folder, const std::string& file, const std::string& content,
                     mode_t mode) {
  return WriteForFolderOwner(folder + "/" + file, content, mode);
}

// The key of an earlier attempt whose answer was lost, or a new one.
absl::StatusOr<config::Key> KeyToJoinWith(const std::string& folder) {
  // Not through a link: another user would get whatever key root can read.
  const absl::StatusOr<std::string> pem =
      runtime::ReadPlainFile(folder + "/" + kKeyFile, config::kMostPemBytes);
  if (pem.ok()) {
    if (config::Key earlier = config::KeyIn(*pem)) return earlier;
  }
  config::Key key = certificates::NewKey();
  RETURN_IF_ERROR(WriteIn(folder, kKeyFile, certificates::PemOf(*key), 0600));
  return key;
}

absl::Status FromAnswer(const Invitation& invitation, const HttpsResponse& answer) {
  const auto fault = nlohmann::json::parse(answer.body, nullptr, false);
  // An aggregator without an authority does not know the paths, and says no more.
  const bool told =
      answer.status != 404 && fault.is_object() && fault.contains("error") && fault["error"].is_string();
  return WithExitCode(
      absl::PermissionDeniedError(fmt::format(
          "{}: {}", invitation.address,
          told ? wire::PeerText(fault["error"].get<std::string>())
               : fmt::format("HTTP status {}: is [access] authority set on the aggregator?", answer.status))),
      runtime::kExitFailure);
}

// The authority that the token names. Whoever answers is not known yet, so only the hash counts.
absl::StatusOr<std::string> FetchAuthority(const Invitation& invitation, const runtime::HostPort& address) {
  ASSIGN_OR_RETURN(const HttpsResponse answer, AskHttps({.address = address}, {.target = "/api/v1/ca"}));
  if (answer.status != 200) return FromAnswer(invitation, answer);
  for (const config::Certificate& each : config::CertificatesIn(answer.body)) {
    if (certificates::Fingerprint(*each) == invitation.ca_sha256) return certificates::PemOf(*each);
  }
  return WithExitCode(
      absl::PermissionDeniedError(fmt::format("{}: is not the aggregator that the token is for: its "
                                              "authority has another hash. The token was not "
                                              "sent. Check the address; somebody may sit in between",
                                              invitation.address)),
      runtime::kExitFailure);
}

absl::StatusOr<v1::JoinResponse> AskToJoin(const Invitation& invitation, const HttpsServer& server,
                                           const std::string& name, const std::string& certificate_request) {
  v1::JoinRequest request;
  request.set_name(name);
  request.set_certificate_request(certificate_request);
  ASSIGN_OR_RETURN(const HttpsResponse answer, AskHttps(server, {.target = "/api/v1/join",
                                                                 .token = invitation.token,
                                                                 .json = wire::MessageJson(request)}));
  if (answer.status != 200) return FromAnswer(invitation, answer);
  v1::JoinResponse response;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // of a newer aggregator
  if (!google::protobuf::util::JsonStringToMessage(answer.body, &response, options).ok() ||
      !certificates::IsCertificateName(response.name())) {
    return absl::DataLossError(fmt::format("{}: its answer is not a JoinResponse", invitation.address));
  }
  return response;
}

std::string DateOf(std::int64_t unix_s) { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(unix_s)); }

config::TlsFiles FilesIn(const std::string& folder, const std::string& name) {
  return {folder + "/" + name + ".pem", folder + "/" + name + ".key", folder + "/ca.pem"};
}

// `said`: for people, before the table that they copy. `joined`: now, not earlier.
void Print(const JoinArguments& arguments, const std::string& name, bool joined, const std::string& said) {
  const config::TlsFiles files = FilesIn(arguments.out, name);
  const auto absolute = [](const std::string& path) { return std::filesystem::absolute(path).string(); };
  const std::string certificate = absolute(files.certificate), key = absolute(files.key),
                    ca = absolute(files.ca);
  if (arguments.json) {
    fmt::print(
        "{}\n",
        wire::DumpJson(
            {{"name", name}, {"joined", joined}, {"certificate", certificate}, {"key", key}, {"ca", ca}}));
  } else {
    fmt::print("{}\n\n[tls]\ncertificate = \"{}\"\nkey = \"{}\"\nca = \"{}\"\nrenew = true\n", said,
               certificate, key, ca);
  }
}

// What the folder has of this authority under the wanted name, or under any. As `tributary certs`, joining
// replaces no certificate that works: neither by another use nor by another authority, whose ca.pem all in
// the folder would get.
absl::StatusOr<std::optional<HeldCertificate>> JoinedAlready(const JoinArguments& arguments,
                                                             const std::string& ca_sha256) {
  std::optional<HeldCertificate> joined;
  for (const HeldCertificate& each : HeldCertificates(arguments.out, ca_sha256)) {
    const bool same_name = arguments.name == each.name;
    if (!each.of_authority || (same_name && !each.client)) {
      return WithExitCode(absl::FailedPreconditionError(fmt::format(
                              "{} is valid until {} and {}: name another folder with --out; to replace it, "
                              "remove the file first",
                              FilesIn(arguments.out, each.name).certificate, DateOf(each.expires_unix_s),
                              each.of_authority ? "a server's" : "of another authority than the token")),
                          runtime::kExitCantCreate);
    }
    if (each.client && (same_name || arguments.name.empty()) && !joined) joined = each;
  }
  return joined;
}

absl::Status Join(const JoinArguments& arguments) {
  const absl::StatusOr<Invitation> invitation = ParseInvitation(arguments.token);
  if (!invitation.ok()) return UsageError(std::string(invitation.status().message()));
  if (!arguments.name.empty() && !certificates::IsCertificateName(arguments.name)) {
    return UsageError("--name: expected 1 to 63 letters, digits, '-', '_' or '.', and not \"ca\"");
  }
  const std::string& out = arguments.out;
  RETURN_IF_ERROR(MakeFolder(out));
  RETURN_IF_ERROR(CheckFiles(out, arguments.name));
  ASSIGN_OR_RETURN(const auto already, JoinedAlready(arguments, invitation->ca_sha256));
  if (already) {
    Print(arguments, already->name, false,
          fmt::format("already joined as {}, valid until {}; to join again, remove {} first", already->name,
                      DateOf(already->expires_unix_s),
                      runtime::Printable(FilesIn(out, already->name).certificate)));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const runtime::HostPort address, runtime::ParseHostPort(invitation->address));
  ASSIGN_OR_RETURN(const std::string ca_pem, FetchAuthority(*invitation, address));
  ASSIGN_OR_RETURN(const config::Key key, KeyToJoinWith(out));
  ASSIGN_OR_RETURN(const std::string request, certificates::MakeSigningRequest(*key));
  ASSIGN_OR_RETURN(const v1::JoinResponse joined,
                   AskToJoin(*invitation, {address, ca_pem}, arguments.name, request));

  const std::string& name = joined.name();
  const config::TlsFiles files = FilesIn(out, name);
  RETURN_IF_ERROR(WriteIn(out, "ca.pem", joined.ca(), 0644));
  RETURN_IF_ERROR(WriteIn(out, name + ".key", certificates::PemOf(*key), 0600));
  RETURN_IF_ERROR(WriteIn(out, name + ".pem", joined.certificate(), 0644));
  RETURN_IF_ERROR(config::LoadTls(files, config::kClientOnly).status());
  std::error_code ignored;  // the key is in NAME.key
  std::filesystem::remove(out + "/" + kKeyFile, ignored);
  Print(arguments, name, true, fmt::format("joined as {}", name));
  return absl::OkStatus();
}

}  // namespace

void AddJoinCommand(Commands& program) {
  auto [command, arguments] = program.Add<JoinArguments>(
      "join", "Make this board's key and get its certificate from the aggregator by a token", Join);
  command.Text("token", arguments.token, "TOKEN", "What `tributary token invite` printed")->required();
  command.Text("--name", arguments.name, "NAME",
               "Which of the token's names; default: the first that no board has");
  command.Text("--out", arguments.out, "FOLDER",
               "Folder for ca.pem, NAME.pem and NAME.key; it is made if it is absent");
  command.Json(arguments.json);
  command.Examples(kJoinExamples);
}

}  // namespace tributary::cli
