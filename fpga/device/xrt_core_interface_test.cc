// Guards the binary interface of xrt_core_interface.h against the installed coreutil.
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstddef>

namespace tributary::device {
namespace {

// Bytes of a data symbol of libxrt_coreutil; 0 if it is not there.
std::size_t SizeOf(const char* symbol) {
  void* library = ::dlopen("libxrt_coreutil.so.2", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return 0;
  void* address = ::dlsym(library, symbol);
  Dl_info info;
  ElfW(Sym)* entry = nullptr;
  if (address == nullptr ||
      ::dladdr1(address, &info, reinterpret_cast<void**>(&entry), RTLD_DL_SYMENT) == 0 || entry == nullptr) {
    return 0;
  }
  return entry->st_size;
}

constexpr std::size_t kHeaderEntries = 2;   // offset to top and type
constexpr std::size_t kSystemEntries = 12;  // virtual functions of xrt_core::system
constexpr std::size_t kDeviceEntries = 50;  // of xrt_core::device without the AI engine's
#if defined(__x86_64__)
constexpr std::size_t kAiEngineEntries = 21;
#else
constexpr std::size_t kAiEngineEntries = 0;
#endif

TEST(XrtCoreInterfaceTest, TheInstalledCoreutilHasTablesOfTheDeclaredSizes) {
  EXPECT_EQ(SizeOf("_ZTVN8xrt_core6deviceE"),
            sizeof(void*) * (kHeaderEntries + kDeviceEntries + kAiEngineEntries));
  EXPECT_EQ(SizeOf("_ZTVN8xrt_core6systemE"), sizeof(void*) * (kHeaderEntries + kSystemEntries));
}

}  // namespace
}  // namespace tributary::device
