// The text of a site's latest slot, printed once for all readers that see the same.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "aggregator/publish/site.h"

namespace tributary::publish {

// Printing a slot costs a hundred times as much as copying its text. Readers that ask for whole slots at the
// same rate get theirs at the same moments, and so share the text. Keeps one text for each site and choice of
// truth. One thread: that of the HTTP server.
class SlotText {
 public:
  // Which slot a reader gets, and how many it missed before: two readers with the same get the same text.
  struct Place {
    std::uint64_t number = 0;
    std::uint64_t skipped = 0;

    bool operator==(const Place&) const = default;
  };

  // Valid until the next call. `print` is called where the last text of this site was for another place.
  const std::string& Get(const Site& site, bool truth, Place place,
                         const std::function<std::string()>& print);

  std::uint64_t printed() const { return printed_; }

 private:
  struct Last {
    Place place;
    std::string text;
  };
  std::map<std::pair<const Site*, bool>, Last> last_;
  std::uint64_t printed_ = 0;
};

}  // namespace tributary::publish
