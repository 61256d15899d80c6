// Settings of the whole process that gRPC's hot path depends on.
#pragma once

namespace tributary::runtime {

// Call first in main(), before any thread is started.
//
// malloc keeps freed memory instead of returning it page by page: the first touch of a page costs 1.2 us
// (measured), a tenth of a round trip. Debian builds Abseil without NDEBUG, so its mutexes search for
// deadlocks at every lock, in a graph that all threads share; gRPC locks some dozen times per message. This
// also raises the limit of open files to the system's maximum.
void TuneProcess();

// Call first in main(). Silences gRPC's own lines on standard error, several a second for a wrong
// certificate: we log their statuses once. GRPC_VERBOSITY in the environment wins.
void QuietLibraries();

// Returns memory that malloc keeps to the system, which takes milliseconds. Call it after a rare and large
// piece of work: a round of federated learning, a model received.
void ReturnFreedMemory();

}  // namespace tributary::runtime
