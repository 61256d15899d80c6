// The head of a network that tells classes apart, its loss, and the temperature that calibrates it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::nn {

// ln(e^(logit / temperature) / Σ e^(logit / temperature)), without overflow. Equal lengths; in place is
// allowed. temperature > 0.
void LogSoftmax(std::span<const float> logits, double temperature, std::span<float> log_probabilities);

// Sum over the samples of −ln p(class), where `stride` floats lie between a sample's logits and a sample n
// begins at float n: logits and gradient are [classes × stride]. `weight` scales the gradient; the samples
// behind the classes given get none.
double CrossEntropy(std::span<const float> logits, std::size_t stride, std::span<const std::uint8_t> classes,
                    float weight, std::span<float> gradient);

// The temperature that minimises the mean of −ln p(class) of `logits` [samples × outputs] [Guo17],
// within [1/100, 100].
double FitTemperature(std::span<const float> logits, std::span<const std::uint8_t> classes);

}  // namespace tributary::nn
