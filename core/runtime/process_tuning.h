// Settings of the process as a whole that gRPC's hot path depends on.
#pragma once

namespace tributary::runtime {

// Call first in main(), before any thread is started.
//
// malloc keeps freed memory for reuse instead of handing it back page by page: the first touch of a page
// costs 1.2 us (measured), a tenth of a round trip. Debian builds Abseil without NDEBUG, whose mutexes then
// look for deadlocks at every lock, in a graph that all threads share: gRPC locks some dozen times per
// message. As many files may be open as the system allows.
void TuneProcess();

// Call first in main(). gRPC writes lines of its own to standard error, several a second where a certificate
// does not fit: what matters in them is in the statuses that we log, once. GRPC_VERBOSITY in the environment
// wins.
void QuietLibraries();

// Hands back what malloc keeps, which takes milliseconds: after what is rare and large (a round of federated
// learning, a model taken in).
void ReturnFreedMemory();

}  // namespace tributary::runtime
