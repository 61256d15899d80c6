// Operations on each element for itself.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/graph/operation.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

// --- float in, float out ---

Specs InferUnary(const NodeContext& context) {
  RETURN_IF_ERROR(ExpectType(context, 0, ElementType::kFloat32));
  return std::vector<Spec>{*context.inputs[0]};
}

template <float (*function)(float)>
absl::Status RunUnary(const NodeContext& /*context*/, const Arguments& arguments) {
  const std::span<const float> x = arguments.inputs[0].As<float>();
  std::ranges::transform(x, arguments.outputs[0].As<float>().begin(), function);
  return absl::OkStatus();
}

float Sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }
float Relu(float x) { return x < 0.0f ? 0.0f : x; }  // NaN stays NaN
float Softplus(float x) { return std::log1p(std::exp(-std::abs(x))) + std::max(x, 0.0f); }
float Softsign(float x) { return x / (1.0f + std::abs(x)); }
float HardSwish(float x) { return x * std::clamp(x / 6.0f + 0.5f, 0.0f, 1.0f); }
float Reciprocal(float x) { return 1.0f / x; }
float Tanh(float x) { return std::tanh(x); }
float Exp(float x) { return std::exp(x); }
float Log(float x) { return std::log(x); }
float Sqrt(float x) { return std::sqrt(x); }
float Erf(float x) { return std::erf(x); }
float Floor(float x) { return std::floor(x); }
float Ceil(float x) { return std::ceil(x); }
float Round(float x) { return std::nearbyint(x); }  // ties to even

template <float (*function)(float)>
constexpr Operation Unary(std::string_view name) {
  return {name, 1, 1, InferUnary, RunUnary<function>};
}

// With the attributes alpha and beta.
template <float (*function)(float, float, float), int alpha_hundredths, int beta_hundredths>
absl::Status RunShaped(const NodeContext& context, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const float alpha,
                   context.attributes().Real("alpha", static_cast<float>(alpha_hundredths) / 100.0f));
  ASSIGN_OR_RETURN(const float beta,
                   context.attributes().Real("beta", static_cast<float>(beta_hundredths) / 100.0f));
  const std::span<const float> x = arguments.inputs[0].As<float>();
  std::ranges::transform(x, arguments.outputs[0].As<float>().begin(),
                         [&](float value) { return function(value, alpha, beta); });
  return absl::OkStatus();
}

float LeakyRelu(float x, float alpha, float) { return x < 0.0f ? alpha * x : x; }
float Elu(float x, float alpha, float) { return x < 0.0f ? alpha * std::expm1(x) : x; }
float HardSigmoid(float x, float alpha, float beta) { return std::clamp(alpha * x + beta, 0.0f, 1.0f); }

// --- any number in, the same out ---

Specs InferSame(const NodeContext& context) { return std::vector<Spec>{*context.inputs[0]}; }

Specs InferSigned(const NodeContext& context) {
  ASSIGN_OR_RETURN(std::vector<Spec> specs, InferSame(context));
  if (specs[0].type == ElementType::kBool) return absl::InvalidArgumentError("a bool has no sign");
  return specs;
}

// Arithmetic of integers wraps around, as NumPy's does.
template <class T>
T Wrapped(auto value) {
  return static_cast<T>(value);
}
template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;

struct Negate {
  template <class T>
  static T Of(T x) {
    return Wrapped<T>(Wide<T>{} - static_cast<Wide<T>>(x));
  }
};
struct Absolute {
  template <class T>
  static T Of(T x) {
    return x < T{} ? Negate::Of(x) : (std::is_floating_point_v<T> && x == T{} ? T{} : x);
  }
};

template <class Function>
absl::Status RunSigned(const NodeContext& context, const Arguments& arguments) {
  WithType(context.inputs[0]->type, [&](auto kind) {
    using T = decltype(kind);
    std::ranges::transform(arguments.inputs[0].As<const T>(), arguments.outputs[0].As<T>().begin(),
                           [](T x) { return Function::Of(x); });
  });
  return absl::OkStatus();
}

Specs InferClip(const NodeContext& context) {
  ASSIGN_OR_RETURN(std::vector<Spec> specs, InferSigned(context));
  for (const std::size_t bound : {1, 2}) {
    if (!context.Has(bound)) continue;
    RETURN_IF_ERROR(ExpectType(context, bound, specs[0].type));
    if (context.inputs[bound]->elements() != 1) return absl::InvalidArgumentError("a bound is one number");
  }
  return specs;
}

absl::Status RunClip(const NodeContext& context, const Arguments& arguments) {
  WithType(context.inputs[0]->type, [&](auto kind) {
    using T = decltype(kind);
    T least = std::numeric_limits<T>::lowest(), most = std::numeric_limits<T>::max();
    if (context.Has(1)) least = arguments.inputs[1].As<T>()[0];
    if (context.Has(2)) most = arguments.inputs[2].As<T>()[0];
    std::ranges::transform(arguments.inputs[0].As<const T>(), arguments.outputs[0].As<T>().begin(),
                           [&](T x) { return std::min(std::max(x, least), most); });
  });
  return absl::OkStatus();
}

// --- several inputs, broadcast ---

Specs InferBroadcast(const NodeContext& context) {
  ASSIGN_OR_RETURN(std::vector<Spec> specs, InferSigned(context));
  for (std::size_t i = 1; i < context.count(); ++i) {
    RETURN_IF_ERROR(ExpectType(context, i, specs[0].type));
    ASSIGN_OR_RETURN(specs[0].shape, Broadcast(specs[0].shape, context.inputs[i]->shape));
  }
  return specs;
}

// Visits the places of `to` in order, with the place in an array that is broadcast to it.
void ForEachPlace(const Shape& shape, const Shape& to, const auto& visit) {
  if (shape != to) return ForEachElement(to, BroadcastStrides(shape, to), 0, visit);
  const std::size_t elements = Size(Spec{ElementType::kFloat32, to}.elements());
  for (std::size_t i = 0; i < elements; ++i) visit(i, i);
}

struct Total {
  template <class T>
  static T Of(T a, T b) {
    return Wrapped<T>(static_cast<Wide<T>>(a) + static_cast<Wide<T>>(b));
  }
};
struct Difference {
  template <class T>
  static T Of(T a, T b) {
    return Wrapped<T>(static_cast<Wide<T>>(a) - static_cast<Wide<T>>(b));
  }
};
struct Multiple {
  template <class T>
  static T Of(T a, T b) {
    return Wrapped<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
  }
};
// Integers towards zero; x / 0 is refused before.
struct Quotient {
  template <class T>
  static T Of(T a, T b) {
    if constexpr (std::is_signed_v<T> && !std::is_floating_point_v<T>) {
      if (b == T{-1}) return Negate::Of(a);
    }
    return static_cast<T>(a / b);
  }
};
struct Greater {
  template <class T>
  static T Of(T a, T b) {
    return a < b || b != b ? b : a;  // NaN if either is
  }
};
struct Less {
  template <class T>
  static T Of(T a, T b) {
    return b < a || b != b ? b : a;
  }
};
template <class Function>
absl::Status RunBroadcast(const NodeContext& context, const Arguments& arguments) {
  return WithType(context.inputs[0]->type, [&](auto kind) {
    using T = decltype(kind);
    const std::span<T> result = arguments.outputs[0].As<T>();
    const Shape& to = arguments.outputs[0].spec->shape;
    for (std::size_t n = 0; n < arguments.inputs.size(); ++n) {
      const std::span<const T> input = arguments.inputs[n].As<const T>();
      if constexpr (std::is_same_v<Function, Quotient> && !std::is_floating_point_v<T>) {
        if (n > 0 && std::ranges::count(input, T{}) > 0)
          return absl::InvalidArgumentError("a division by zero");
      }
      ForEachPlace(arguments.inputs[n].spec->shape, to, [&](std::size_t i, std::size_t at) {
        result[i] = n == 0 ? input[at] : Function::Of(result[i], input[at]);
      });
    }
    return absl::OkStatus();
  });
}

// The result has the type of the base; the exponent may have another one. An integer out of range becomes the
// nearest one in range.
Specs InferPow(const NodeContext& context) {
  ASSIGN_OR_RETURN(std::vector<Spec> specs, InferSigned(context));
  ASSIGN_OR_RETURN(specs[0].shape, Broadcast(specs[0].shape, context.inputs[1]->shape));
  return specs;
}

absl::Status RunPow(const NodeContext& context, const Arguments& arguments) {
  const Shape& to = arguments.outputs[0].spec->shape;
  WithType(context.inputs[0]->type, [&](auto base) {
    WithType(context.inputs[1]->type, [&](auto exponent) {
      using T = decltype(base);
      const std::span<const T> x = arguments.inputs[0].As<const T>();
      const auto y = arguments.inputs[1].As<const decltype(exponent)>();
      const std::span<T> z = arguments.outputs[0].As<T>();
      ForEachPlace(context.inputs[0]->shape, to, [&](std::size_t i, std::size_t at) { z[i] = x[at]; });
      ForEachPlace(context.inputs[1]->shape, to, [&](std::size_t i, std::size_t at) {
        const double power = std::pow(static_cast<double>(z[i]), static_cast<double>(y[at]));
        if constexpr (std::is_floating_point_v<T>) {
          z[i] = static_cast<T>(power);
        } else {
          constexpr auto kMost = static_cast<double>(std::numeric_limits<T>::max());
          const bool inside = power > static_cast<double>(std::numeric_limits<T>::min()) && power < kMost;
          z[i] = inside           ? static_cast<T>(power)
                 : power >= kMost ? std::numeric_limits<T>::max()
                                  : std::numeric_limits<T>::min();
        }
      });
    });
  });
  return absl::OkStatus();
}

Specs InferFloats(const NodeContext& context) {
  RETURN_IF_ERROR(ExpectType(context, 0, ElementType::kFloat32));
  return InferBroadcast(context);
}

absl::Status RunPRelu(const NodeContext& context, const Arguments& arguments) {
  const std::span<const float> x = arguments.inputs[0].As<float>(), slope = arguments.inputs[1].As<float>();
  const std::span<float> y = arguments.outputs[0].As<float>();
  ForEachPlace(context.inputs[1]->shape, context.inputs[0]->shape,
               [&](std::size_t i, std::size_t at) { y[i] = x[i] < 0.0f ? slope[at] * x[i] : x[i]; });
  return absl::OkStatus();
}

Specs InferPRelu(const NodeContext& context) {
  ASSIGN_OR_RETURN(std::vector<Spec> specs, InferFloats(context));
  if (specs[0] == *context.inputs[0]) return specs;
  return absl::InvalidArgumentError("the slopes have more elements than the input");
}

constexpr std::size_t kManyTerms = 64;

constexpr Operation kElementwise[] = {
    Unary<Relu>("Relu"),
    Unary<Sigmoid>("Sigmoid"),
    Unary<Tanh>("Tanh"),
    Unary<Exp>("Exp"),
    Unary<Log>("Log"),
    Unary<Sqrt>("Sqrt"),
    Unary<Erf>("Erf"),
    Unary<Floor>("Floor"),
    Unary<Ceil>("Ceil"),
    Unary<Round>("Round"),
    Unary<Softplus>("Softplus"),
    Unary<Softsign>("Softsign"),
    Unary<HardSwish>("HardSwish"),
    Unary<Reciprocal>("Reciprocal"),
    {"LeakyRelu", 1, 1, InferUnary, RunShaped<LeakyRelu, 1, 0>},
    {"Elu", 1, 1, InferUnary, RunShaped<Elu, 100, 0>},
    {"HardSigmoid", 1, 1, InferUnary, RunShaped<HardSigmoid, 20, 50>},
    {"PRelu", 2, 2, InferPRelu, RunPRelu},
    {"Identity", 1, 1, InferSame, CopyElements},
    {"Neg", 1, 1, InferSigned, RunSigned<Negate>},
    {"Abs", 1, 1, InferSigned, RunSigned<Absolute>},
    {"Clip", 1, 3, InferClip, RunClip},
    {"Add", 2, 2, InferBroadcast, RunBroadcast<Total>},
    {"Sub", 2, 2, InferBroadcast, RunBroadcast<Difference>},
    {"Mul", 2, 2, InferBroadcast, RunBroadcast<Multiple>},
    {"Div", 2, 2, InferBroadcast, RunBroadcast<Quotient>},
    {"Pow", 2, 2, InferPow, RunPow},
    {"Sum", 1, kManyTerms, InferFloats, RunBroadcast<Total>},
    {"Max", 1, kManyTerms, InferBroadcast, RunBroadcast<Greater>},
    {"Min", 1, kManyTerms, InferBroadcast, RunBroadcast<Less>},
};

}  // namespace

std::span<const Operation> ElementwiseOperations() { return kElementwise; }

}  // namespace tributary::graph
