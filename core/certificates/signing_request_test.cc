#include "core/certificates/signing_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <string>

#include "core/certificates/new_certificate.h"
#include "core/config/tls.h"

namespace tributary::certificates {
namespace {

using ::testing::HasSubstr;

std::string Refusal(const std::string& pem) {
  return std::string(KeyOfSigningRequest(pem).status().message());
}

// A request that declares what its sender likes, signed by `signer`.
std::string RequestOf(EVP_PKEY* key, EVP_PKEY* signer) {
  X509_REQ* const request = X509_REQ_new();
  X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(request), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>("admin"), -1, -1, 0);
  STACK_OF(X509_EXTENSION)* const extensions = sk_X509_EXTENSION_new_null();
  sk_X509_EXTENSION_push(extensions,
                         X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE"));
  X509_REQ_add_extensions(request, extensions);
  sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
  X509_REQ_set_pubkey(request, key);
  X509_REQ_sign(request, signer, EVP_sha256());
  const config::Bio memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509_REQ(memory.get(), request);
  X509_REQ_free(request);
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

TEST(SigningRequestTest, GivesTheKeyAndNothingThatItsSenderDeclares) {
  const config::Key key = NewKey();
  const auto taken = KeyOfSigningRequest(RequestOf(key.get(), key.get()));
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(EVP_PKEY_eq(taken->get(), key.get()), 1);
  EXPECT_EQ(Fingerprint(**taken), Fingerprint(*key));
  const CertificateAndKey authority = MakeAuthority(86'400).value();
  const config::Certificate made = MakeCertificate({.name = "board"}, **taken, 3'600, authority).value();
  EXPECT_EQ(X509_check_ca(made.get()), 0);
  EXPECT_EQ(config::CertificateName(PemOf(*made)), "board");
  EXPECT_EQ(X509_check_purpose(made.get(), X509_PURPOSE_SSL_CLIENT, 0), 1);
  EXPECT_EQ(X509_check_purpose(made.get(), X509_PURPOSE_SSL_SERVER, 0), 0);
}

TEST(SigningRequestTest, IsReadAsItIsMade) {
  const config::Key key = NewKey();
  EXPECT_TRUE(KeyOfSigningRequest(MakeSigningRequest(*key).value()).ok());
}

TEST(SigningRequestTest, WhoeverDoesNotOwnTheKeyIsRefused) {
  const config::Key key = NewKey(), other = NewKey();
  EXPECT_THAT(Refusal(RequestOf(key.get(), other.get())), HasSubstr("signature is not by its key"));
}

TEST(SigningRequestTest, TakesNoKeyButOneOnP256) {
  for (const config::Key& key : {config::Key(EVP_RSA_gen(1024)), config::Key(EVP_EC_gen("P-384"))}) {
    EXPECT_THAT(Refusal(RequestOf(key.get(), key.get())), HasSubstr("not an EC key on the curve P-256"));
  }
}

TEST(SigningRequestTest, RefusesWhatIsNoRequest) {
  const config::Key key = NewKey();
  const std::string good = MakeSigningRequest(*key).value();
  for (const std::string& text : {std::string(), std::string("-----BEGIN CERTIFICATE REQUEST-----\n"),
                                  PemOf(*key), good.substr(0, good.size() / 2), std::string(1000, '\0')}) {
    EXPECT_THAT(Refusal(text), HasSubstr("is not a PEM certificate request"));
  }
  EXPECT_THAT(Refusal(std::string(kMostRequestBytes + 1, 'A')), HasSubstr("at most 4096 are allowed"));
}

TEST(IsCertificateNameTest, IsAFileNameOfItsOwn) {
  for (const char* name : {"east", "board-7", "a.b_c", "7"}) EXPECT_TRUE(IsCertificateName(name)) << name;
  for (const char* name : {"", "ca", "..", ".hidden", "-option", "a/b", "a b", "ä", "a\n"}) {
    EXPECT_FALSE(IsCertificateName(name)) << name;
  }
  EXPECT_FALSE(IsCertificateName(std::string(64, 'a')));
}

}  // namespace
}  // namespace tributary::certificates
