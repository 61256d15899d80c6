// Owns what a C library allocates.
#pragma once

namespace tributary {

// For std::unique_ptr: frees an object by the library's function, as in
// std::unique_ptr<X509, FreedBy<X509_free>>.
template <auto Free>
struct FreedBy {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};

}  // namespace tributary
