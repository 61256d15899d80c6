// The threads that run gRPC's callbacks: those of federated learning and of calls that nobody serves.
#pragma once

namespace tributary::server {

// gRPC 1.51 runs callbacks on threads that also wait for the sockets of all connections, and whoever waits
// reads. gRPC prefers a thread of the same queue as the next one to wait. It has two or more threads for
// callbacks and one for each of our queues: most frames were read by the threads of learning, and handed to
// the thread that fuses, which costs two wake-ups.
//
// Here callbacks have threads that wait for work only, and give way to the threads that fuse. So the ingest
// threads read all connections. gRPC has no setting for it: callback_threads.cc defines the two functions by
// which gRPC gets and returns the queue, and the linker prefers a program's definition to a shared library's
// (decision 21).

// Whether these threads run. Call after a server with callbacks has started; false: gRPC was linked in a way
// that keeps its own.
bool CallbackThreadsRun();

}  // namespace tributary::server
