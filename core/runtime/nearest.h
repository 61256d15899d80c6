// What a mistyped word was meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tributary::runtime {

// The candidate that `word` was most likely meant to be; empty if none is near. Two letters that changed
// places count as one fault. Two faults are admitted, one in words of up to three letters.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

// "; did you mean status?" for the end of a message; empty if nothing is meant.
std::string DidYouMean(const std::string& meant);

}  // namespace tributary::runtime
