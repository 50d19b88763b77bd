// The host prelude: what generated kernels are compiled against where there is no GPU.
//
// Every access to global and shared memory, every barrier and every intrinsic becomes a call of the emulator
// through the table `host`. A kernel's own arithmetic, and the operator's, is compiled as it stands.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#define __device__
#define __forceinline__ inline
#define __noinline__
#define EMULATOR_INLINE inline __attribute__((always_inline))
#define __syncthreads() ::emulator::host->barrier(__LINE__)
#define __trap() ::emulator::host->trap(__LINE__)

namespace emulator {

// What is known of a value's past. Mirrored by `Origin` in Rust.
struct Origin {
  std::uint32_t depth; // the longest chain of operator applications that led to the value
  std::uint32_t event; // the event of the trace that brought it forth; 0 where there is none
};

inline constexpr std::uint32_t NEVER_SET = 0xffffffff; // the depth of a variable that has been given no value

enum Atomic : std::uint32_t { LOAD_RELAXED, LOAD_ACQUIRE, STORE_RELAXED, STORE_RELEASE, ADD, OR };
enum Exchange : std::uint32_t { SYNC, SHUFFLE, SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR, BALLOT };

// A bulk copy, and the barrier that it arrives at, if it is one into shared memory. Mirrored by `Copy` in Rust.
struct Copy {
  std::uint32_t to_buffer, from_buffer, barrier_buffer, bytes;
  std::int64_t to, from, barrier;
};

// The emulator's side. Mirrored by `Host` in Rust.
struct Host {
  std::uint32_t (*thread_index)();
  std::uint32_t (*block_index)();
  std::uint32_t (*block_size)();
  std::uint32_t (*grid_size)();
  void (*read)(std::uint32_t buffer, std::int64_t offset, std::uint32_t size, std::uint32_t align, std::uint32_t line,
               void* to, Origin* origin);
  void (*write)(std::uint32_t buffer, std::int64_t offset, std::uint32_t size, std::uint32_t align, std::uint32_t line,
                const void* from, const Origin* origin);
  void (*atomic)(std::uint32_t what, std::uint32_t buffer, std::int64_t offset, std::uint32_t size, std::uint32_t line,
                 void* value);
  void (*fence)(std::uint32_t line);
  void (*pause)(std::uint32_t line);
  bool (*has_waited_long)();
  void (*barrier)(std::uint32_t line);
  void (*exchange)(std::uint32_t what, std::uint32_t argument, std::uint32_t size, std::uint32_t line, void* value);
  void (*apply)(std::uint32_t line, std::uint32_t size, const void* left, const void* right, const Origin* left_origin,
                const Origin* right_origin, Origin* origin);
  void (*lift)(std::uint32_t line, std::uint32_t input_size, std::uint32_t size, const void* state, Origin* origin);
  std::uint32_t (*shared)(std::uint32_t declaration, const char* name, std::uint64_t bytes, std::uint32_t align,
                          std::uint32_t line);
  std::uint64_t (*address)(std::uint32_t buffer, std::int64_t offset);
  void (*trap)(std::uint32_t line);
  void (*outside_own_array)(std::uint64_t index, std::uint32_t line);
  void (*shifted_too_far)(std::uint64_t by, std::uint32_t line);
  std::uint32_t (*launched_shared)();
  void (*init_barrier)(std::uint32_t buffer, std::int64_t offset, std::uint32_t arrivals, std::uint32_t line);
  void (*arrive)(std::uint32_t buffer, std::int64_t offset, std::uint32_t bytes, std::uint32_t line);
  void (*wait)(std::uint32_t buffer, std::int64_t offset, std::uint32_t parity, std::uint32_t line);
  void (*copy_in)(const Copy* copy, std::uint32_t line);
  void (*copy_out)(const Copy* copy, std::uint32_t line);
  void (*wait_for_bulk_stores)(std::uint32_t line);
  void (*fence_for_copies)();
  void (*tell)(const Copy* copy, const void* value, std::uint32_t block, std::uint32_t line);
  void (*arrive_in_cluster)(std::uint32_t line);
  void (*wait_for_cluster)(std::uint32_t line);
  void (*wait_for_previous_launch)();
  void (*cp_async)(std::uint32_t buffer, std::int64_t offset, std::uint32_t size, std::uint32_t line, const void* from);
  void (*cp_async_commit_group)();
  void (*cp_async_wait_group)(std::uint32_t pending);
  std::uint64_t (*place)(std::uint32_t buffer, std::int64_t offset);
  void (*item)(std::uint64_t place, std::uint32_t bytes);
};

extern const Host* host;

// A partial result in a register, with its past. It stands wherever the kernel says the operator's state type.
template <class T>
struct Value {
  T value;
  Origin origin;

  Value() : origin{NEVER_SET, 0} {}
  Value(const T& value) : value(value), origin{0, 0} {}
  operator const T&() const { return value; }
};

template <class T>
inline constexpr bool is_value = false;
template <class T>
inline constexpr bool is_value<Value<T>> = true;

// What lies in memory where the kernel says T.
template <class T>
struct StoredAs {
  using type = T;
};
template <class T>
struct StoredAs<Value<T>> {
  using type = T;
};
template <class T, std::size_t N>
struct StoredAs<T[N]> {
  using type = typename StoredAs<T>::type[N];
};
template <class T>
struct Pointer;
template <class T>
struct StoredAs<Pointer<T>> {
  using type = T*;
};
template <class T>
using Stored = typename StoredAs<std::remove_const_t<T>>::type;

template <class T>
struct Reference;

// An index, with the line on which it stands. What is computed from it stands there too.
struct Index {
  std::int64_t value;
  std::uint32_t line;
  template <class I, std::enable_if_t<std::is_integral_v<I> || std::is_enum_v<I>, int> = 0>
  Index(I value, std::uint32_t line = __builtin_LINE()) : value((std::int64_t)value), line(line) {}
  template <class U>
  Index(const Reference<U>& value, std::uint32_t line = __builtin_LINE())
      : value((std::int64_t)(std::remove_const_t<U>)value), line(line) {}
  explicit operator std::size_t() const { return (std::size_t)value; }
  friend Index operator+(const Index& i, const Index& j) { return Index(i.value + j.value, i.line); }
  friend Index operator-(const Index& i, const Index& j) { return Index(i.value - j.value, i.line); }
  friend Index operator*(const Index& i, const Index& j) { return Index(i.value * j.value, i.line); }
  friend Index operator/(const Index& i, const Index& j) { return Index(i.value / j.value, i.line); }
  friend Index operator%(const Index& i, const Index& j) { return Index(i.value % j.value, i.line); }
};

// A place in a buffer that the emulator knows, or (buffer 0) in memory of the thread's own.
struct Address {
  std::uint32_t buffer;
  std::int64_t offset; // in bytes; the address where the buffer is 0

  void check(std::uint32_t line) const {
    if (offset == 0) {
      host->trap(line); // a null pointer
    }
  }
  // Reads the bytes at the address: `own_bytes` in memory of the thread's own, which holds a value's past too.
  void read(void* to, std::size_t own_bytes, std::size_t bytes, std::size_t align, std::uint32_t line,
            Origin* origin) const {
    if (buffer == 0) {
      check(line);
      std::memcpy(to, (const void*)(std::intptr_t)offset, own_bytes);
    } else {
      host->read(buffer, offset, bytes, align, line, to, origin);
    }
  }
  void write(const void* from, std::size_t own_bytes, std::size_t bytes, std::size_t align, std::uint32_t line,
             const Origin* origin) const {
    if (buffer == 0) {
      check(line);
      std::memcpy((void*)(std::intptr_t)offset, from, own_bytes);
    } else {
      host->write(buffer, offset, bytes, align, line, from, origin);
    }
  }
  explicit operator bool() const { return buffer != 0 || offset != 0; }
  explicit operator std::uint64_t() const {
    return buffer == 0 ? (std::uint64_t)offset : host->address(buffer, offset);
  }
};

// A pointer: an address with a type. A third of the functions that the compiler makes of a kernel are those of pointers
// and references, once for each type. So `Address` does what needs no type, and functions that only call another are
// inlined.
template <class T>
struct Pointer : Address {
  Pointer() : Address{0, 0} {}
  Pointer(std::nullptr_t) : Address{0, 0} {}
  Pointer(std::uint32_t buffer, std::int64_t offset) : Address{buffer, offset} {}
  Pointer(T* local) : Address{0, (std::int64_t)(std::intptr_t)local} {}
  template <class U>
    requires std::is_same_v<const U, T>
  Pointer(const Pointer<U>& other) : Address(other) {}
  template <class U>
    requires(!std::is_same_v<const U, T> && !std::is_same_v<U, T>)
  explicit Pointer(const Pointer<U>& other) : Address(other) {
    if constexpr (is_value<U>) {
      if (buffer == 0 && offset != 0) {
        other.local()->origin = Origin{0, 0}; // its bytes can now be set one by one
      }
    }
  }
  template <class U>
    requires(!std::is_same_v<std::remove_const_t<U>, std::remove_const_t<T>>)
  explicit Pointer(U* local) : Address{0, (std::int64_t)(std::intptr_t)local} {
    if constexpr (is_value<U>) {
      local->origin = Origin{0, 0}; // as above
    }
  }

  using Pointee = std::remove_const_t<T>;
  T* local() const { return (T*)(std::intptr_t)offset; }
  static constexpr std::int64_t SIZE = sizeof(Stored<T>);

  Reference<T> operator[](Index i) const;
  Pointer at(std::int64_t i) const {
    Pointer moved = *this;
    moved.offset += i * (buffer == 0 ? (std::int64_t)sizeof(T) : SIZE);
    return moved;
  }
  Pointer& operator+=(std::int64_t i) { return *this = at(i); }
  Pointer& operator-=(std::int64_t i) { return *this = at(-i); }
  Pointer& operator++() { return *this = at(1); }
  Pointer& operator--() { return *this = at(-1); }
  friend EMULATOR_INLINE Pointer operator+(const Pointer& p, std::int64_t i) { return p.at(i); }
  friend EMULATOR_INLINE Pointer operator+(std::int64_t i, const Pointer& p) { return p.at(i); }
  friend EMULATOR_INLINE Pointer operator-(const Pointer& p, std::int64_t i) { return p.at(-i); }
  friend std::int64_t operator-(const Pointer& p, const Pointer& q) {
    return (p.offset - q.offset) / (p.buffer == 0 ? (std::int64_t)sizeof(T) : SIZE);
  }
  friend bool operator==(const Pointer& p, const Pointer& q) { return p.buffer == q.buffer && p.offset == q.offset; }
  friend bool operator<(const Pointer& p, const Pointer& q) { return p.offset < q.offset; }
};

// What a pointer points at: reading and writing it are the calls that the emulator watches.
template <class T>
struct Reference {
  Pointer<T> pointer;
  std::uint32_t line;

  using Plain = std::remove_const_t<T>;

  // Values of an empty type are nowhere in the GPU's memory.
  Plain read() const {
    if constexpr (std::is_empty_v<Plain>) {
      return Plain{};
    } else if constexpr (is_value<Plain>) {
      Plain plain;
      pointer.Address::read(&plain, sizeof(plain), sizeof(plain.value), alignof(Stored<T>), line, &plain.origin);
      return plain;
    } else {
      Plain plain;
      pointer.Address::read(&plain, sizeof(plain), sizeof(plain), alignof(Stored<T>), line, nullptr);
      return plain;
    }
  }
  void write(const Plain& plain) const {
    static_assert(!std::is_const_v<T>, "a write through a pointer to const");
    if constexpr (std::is_empty_v<Plain>) {
      return;
    } else if constexpr (is_value<Plain>) {
      pointer.Address::write(&plain, sizeof(plain), sizeof(plain.value), alignof(Stored<T>), line, &plain.origin);
    } else {
      pointer.Address::write(&plain, sizeof(plain), sizeof(plain), alignof(Stored<T>), line, nullptr);
    }
  }

  EMULATOR_INLINE operator Plain() const { return read(); }
  template <class U>
    requires(is_value<Plain> && std::is_same_v<U, Stored<T>>)
  operator U() const {
    return read().value;
  }
  template <class U>
    requires(!is_value<Plain> && std::is_same_v<U, Value<Plain>>)
  operator U() const {
    return U(read());
  }
  EMULATOR_INLINE const Reference& operator=(const Plain& plain) const {
    write(plain);
    return *this;
  }
  EMULATOR_INLINE const Reference& operator=(const Reference& other) const {
    write(other.read());
    return *this;
  }
  template <class U>
  EMULATOR_INLINE const Reference& operator=(const Reference<U>& other) const {
    write(other.read());
    return *this;
  }
  template <class U>
  EMULATOR_INLINE const Reference& operator+=(const U& other) const {
    write((Plain)(read() + other));
    return *this;
  }
  template <class U>
  EMULATOR_INLINE const Reference& operator|=(const U& other) const {
    write((Plain)(read() | other));
    return *this;
  }
  template <class U>
  EMULATOR_INLINE const Reference& operator&=(const U& other) const {
    write((Plain)(read() & other));
    return *this;
  }
  EMULATOR_INLINE Pointer<T> operator&() const { return pointer; }
};

template <class T>
Reference<T> Pointer<T>::operator[](Index i) const {
  Reference<T> element{*this, i.line};
  element.pointer.offset += i.value * (buffer == 0 ? (std::int64_t)sizeof(T) : SIZE);
  return element;
}

// A shared array of arrays.
template <class T, std::size_t N>
struct Rows {
  Pointer<T> first;
  Pointer<T> operator[](std::size_t i) const { return first.at((std::int64_t)(i * N)); }
};

template <class T>
Pointer<T> shared(std::uint32_t declaration, const char* name, std::size_t length, std::size_t align, std::uint32_t line) {
  if (align < alignof(Stored<T>)) {
    align = alignof(Stored<T>);
  }
  const std::size_t bytes = std::is_empty_v<Stored<T>> ? 0 : length * sizeof(Stored<T>);
  return Pointer<T>(host->shared(declaration, name, bytes, (std::uint32_t)align, line), 0);
}

// `p->name`: a place in memory, or a pointer to the first item where the member is an array.
template <class T, class M>
auto field(const Pointer<T>& pointer, M std::remove_const_t<T>::* member, std::uint32_t line) {
  using Plain = std::remove_const_t<T>;
  alignas(Plain) static char anywhere[sizeof(Plain)];
  Plain* object = (Plain*)anywhere;
  const std::int64_t offset = pointer.offset + ((char*)&(object->*member) - (char*)object);
  using Item = std::remove_extent_t<M>;
  using Place = Pointer<std::conditional_t<std::is_const_v<T>, const Item, Item>>;
  if constexpr (std::is_array_v<M>) {
    return Place(pointer.buffer, offset);
  } else {
    return Reference{Place(pointer.buffer, offset), line};
  }
}
#define EMULATOR_FIELD(pointer, name, line)                                                                             \
  ::emulator::field(pointer, &std::remove_cvref_t<decltype(pointer)>::Pointee::name, line)

// `sizeof` of a variable, and of what a pointer points at, as on the GPU.
#define EMULATOR_SIZE(variable) sizeof(::emulator::Stored<std::remove_cvref_t<decltype(variable)>>)
#define EMULATOR_POINTEE_SIZE(pointer) sizeof(::emulator::Stored<typename std::remove_cvref_t<decltype(pointer)>::Pointee>)

// memcpy. A variable that is set byte by byte is set.
template <class To, class From>
void copy_bytes(To* to, const From* from, std::size_t bytes, std::uint32_t line = __builtin_LINE()) {
  if ((is_value<To> && bytes > sizeof(Stored<To>)) || (is_value<From> && bytes > sizeof(Stored<From>))) {
    host->trap(line);
  }
  std::memcpy((void*)to, (const void*)from, bytes);
  if constexpr (is_value<To>) {
    to->origin = Origin{0, 0};
  }
}
template <class To, class From>
void copy_bytes(To* to, const Pointer<From>& from, std::size_t bytes, std::uint32_t line = __builtin_LINE()) {
  if (from.buffer == 0) {
    copy_bytes(to, from.local(), bytes, line);
  } else {
    host->read(from.buffer, from.offset, bytes, 1, line, to, nullptr);
  }
}
template <class To, class From>
void copy_bytes(const Pointer<To>& to, const From* from, std::size_t bytes, std::uint32_t line = __builtin_LINE()) {
  if (to.buffer == 0) {
    copy_bytes(to.local(), from, bytes, line);
  } else {
    host->write(to.buffer, to.offset, bytes, 1, line, from, nullptr);
  }
}

// Applies the operator. The order in which the operands are read is the compiler's choice, as on the GPU.
template <class T>
struct ResultOf;
template <class R, class C, class... A>
struct ResultOf<R (C::*)(A...) const> {
  using type = std::remove_cvref_t<R>;
};
template <class R, class C, class... A>
struct ResultOf<R (C::*)(A...)> {
  using type = std::remove_cvref_t<R>;
};
template <class R, class... A>
struct ResultOf<R (*)(A...)> {
  using type = std::remove_cvref_t<R>;
};
template <class Op>
using State = typename ResultOf<decltype(&Op::combine)>::type;

template <class Op>
Value<State<Op>> apply(const Op& op, std::uint32_t line, const Value<State<Op>>& left, const Value<State<Op>>& right) {
  Origin origin;
  host->apply(line, sizeof(State<Op>), &left.value, &right.value, &left.origin, &right.origin, &origin);
  Value<State<Op>> result(op.combine(left.value, right.value));
  result.origin = origin;
  return result;
}

// The partial result of an input. Where an input without a past comes from, the host knows: from what the thread read.
template <class Op, class Input>
Value<State<Op>> lift(const Op& op, std::uint32_t line, const Input& input) {
  if constexpr (requires { op.lift(input); }) {
    Value<State<Op>> result(op.lift(input));
    if constexpr (is_value<Input>) {
      result.origin = input.origin;
    }
    host->lift(line, sizeof(Input), sizeof(State<Op>), &result.value, &result.origin);
    return result;
  } else {
    return input;
  }
}
template <class Op, class T>
Value<State<Op>> lift(const Op& op, std::uint32_t line, const Reference<T>& input) {
  return lift(op, line, input.read());
}

// Applies the operator to a partial result and an input: an application as well, of what the input is lifted to.
template <class Op, class Input>
Value<State<Op>> append(const Op& op, std::uint32_t line, const Value<State<Op>>& left, const Input& input) {
  Origin origin;
  const Value<State<Op>> right = lift(op, line, input);
  host->apply(line, sizeof(State<Op>), &left.value, &right.value, &left.origin, &right.origin, &origin);
  Value<State<Op>> result(op.append(left.value, input));
  result.origin = origin;
  return result;
}

// The same where the input precedes the partial result.
template <class Op, class Input>
Value<State<Op>> prepend(const Op& op, std::uint32_t line, const Input& input, const Value<State<Op>>& right) {
  Origin origin;
  const Value<State<Op>> left = lift(op, line, input);
  host->apply(line, sizeof(State<Op>), &left.value, &right.value, &left.origin, &right.origin, &origin);
  Value<State<Op>> result(op.prepend(input, right.value));
  result.origin = origin;
  return result;
}

// A kernel's arguments as the emulator hands them over: a pointer as a buffer and an offset, all else by its bytes.
struct Handle {
  std::uint32_t buffer;
  std::int64_t offset;
};
template <class T>
struct Argument {
  static constexpr std::uint32_t SIZE = sizeof(Stored<T>);
  static std::remove_const_t<T> get(const void* argument) {
    Stored<T> value;
    std::memcpy(&value, argument, sizeof(value));
    return value;
  }
};
template <class T>
struct Argument<Pointer<T>> {
  static constexpr std::uint32_t SIZE = 0;
  static Pointer<T> get(const void* argument) {
    const Handle* handle = (const Handle*)argument;
    return Pointer<T>(handle->buffer, handle->offset);
  }
};
template <class T>
struct Argument<const Pointer<T>> : Argument<Pointer<T>> {};

// The operator gave up.
[[noreturn]] inline void give_up() {
  host->trap(0);
  __builtin_unreachable();
}

// The intrinsics, as the kernels call them.
namespace intrinsics {

template <class T>
T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
T max(T a, T b) {
  return a < b ? b : a;
}

inline void __syncwarp(std::uint32_t line = __builtin_LINE()) {
  host->exchange(SYNC, 0, 0, line, nullptr);
}

template <class T>
std::remove_const_t<T> exchange(std::uint32_t what, T value, std::uint32_t argument, std::uint32_t line) {
  host->exchange(what, argument, sizeof(value), line, (void*)&value);
  return value;
}
template <class T>
T shuffle(T value, unsigned lane, std::uint32_t line = __builtin_LINE()) {
  return exchange(SHUFFLE, value, lane, line);
}
template <class T>
T shuffle_up(T value, unsigned delta, std::uint32_t line = __builtin_LINE()) {
  return exchange(SHUFFLE_UP, value, delta, line);
}
template <class T>
T shuffle_down(T value, unsigned delta, std::uint32_t line = __builtin_LINE()) {
  return exchange(SHUFFLE_DOWN, value, delta, line);
}
template <class T>
T shuffle_xor(T value, unsigned mask, std::uint32_t line = __builtin_LINE()) {
  return exchange(SHUFFLE_XOR, value, mask, line);
}
inline unsigned ballot(bool predicate, std::uint32_t line = __builtin_LINE()) {
  return exchange(BALLOT, (unsigned)predicate, 0, line);
}
inline unsigned lowest_set_bit(unsigned word) {
  return std::countr_zero(word);
}
inline std::size_t product_high(std::size_t a, std::size_t b) {
  return (unsigned __int128)a * b >> 64;
}
inline int highest_set_lane(bool condition, std::uint32_t line = __builtin_LINE()) {
  return 31 - std::countl_zero(ballot(condition, line));
}

template <class T>
Stored<T> atomic(std::uint32_t what, Pointer<T> pointer, Stored<T> value, std::uint32_t line) {
  host->atomic(what, pointer.buffer, pointer.offset, sizeof(value), line, &value);
  return value;
}
template <class T>
Stored<T> load_relaxed(Pointer<T> pointer, std::uint32_t line = __builtin_LINE()) {
  return atomic(LOAD_RELAXED, pointer, Stored<T>(), line);
}
inline unsigned long long load_tickets(
    Pointer<const unsigned long long> pointer, std::uint32_t line = __builtin_LINE()) {
  return load_relaxed(pointer, line);
}
template <class T>
Stored<T> load_acquire(Pointer<T> pointer, std::uint32_t line = __builtin_LINE()) {
  return atomic(LOAD_ACQUIRE, pointer, Stored<T>(), line);
}
template <class T>
void store_relaxed(Pointer<T> pointer, std::type_identity_t<Stored<T>> value, std::uint32_t line = __builtin_LINE()) {
  atomic(STORE_RELAXED, pointer, value, line);
}
template <class T>
void store_release(Pointer<T> pointer, std::type_identity_t<Stored<T>> value, std::uint32_t line = __builtin_LINE()) {
  atomic(STORE_RELEASE, pointer, value, line);
}
inline unsigned long long fetch_ticket(Pointer<unsigned long long> count, std::uint32_t line = __builtin_LINE()) {
  return atomic(ADD, count, 1ull, line);
}
inline void add_bits(Pointer<unsigned> word, unsigned bits, std::uint32_t line = __builtin_LINE()) {
  atomic(OR, word, bits, line);
}
inline void fence(std::uint32_t line = __builtin_LINE()) {
  host->fence(line);
}
inline void pause(std::uint32_t line = __builtin_LINE()) {
  host->pause(line);
}
inline bool has_waited_long(unsigned polls) {
  return polls > 0 && host->has_waited_long();
}

inline Pointer<unsigned char> dynamic_shared_memory() {
  return Pointer<unsigned char>(host->launched_shared(), 0);
}
template <class T>
void init_barrier(Pointer<T> barrier, unsigned arrivals, std::uint32_t line = __builtin_LINE()) {
  host->init_barrier(barrier.buffer, barrier.offset, arrivals, line);
}
inline void fence_barriers() {
  host->fence_for_copies();
}
template <class T>
void arrive(Pointer<T> barrier, std::uint32_t line = __builtin_LINE()) {
  host->arrive(barrier.buffer, barrier.offset, 0, line);
}
template <class T>
void arrive_for_warp(Pointer<T> barrier, std::uint32_t line = __builtin_LINE()) {
  for (unsigned lane = 0; lane < 32; lane++) {
    host->arrive(barrier.buffer, barrier.offset, 0, line);
  }
}
template <class T>
void arrive_expect_tx(Pointer<T> barrier, unsigned bytes, std::uint32_t line = __builtin_LINE()) {
  host->arrive(barrier.buffer, barrier.offset, bytes, line);
}
template <class T>
void wait(Pointer<T> barrier, unsigned parity, std::uint32_t line = __builtin_LINE()) {
  host->wait(barrier.buffer, barrier.offset, parity, line);
}
template <class T>
void bulk_load(Pointer<unsigned char> to, Pointer<const unsigned char> from, unsigned bytes, Pointer<T> barrier,
                   std::uint32_t line = __builtin_LINE()) {
  const Copy copy{to.buffer, from.buffer, barrier.buffer, bytes, to.offset, from.offset, barrier.offset};
  host->copy_in(&copy, line);
}
inline void bulk_store(Pointer<unsigned char> to, Pointer<const unsigned char> from, unsigned bytes,
                           std::uint32_t line = __builtin_LINE()) {
  const Copy copy{to.buffer, from.buffer, 0, bytes, to.offset, from.offset, 0};
  host->copy_out(&copy, line);
}
inline void wait_for_bulk_stores(std::uint32_t line = __builtin_LINE()) {
  host->wait_for_bulk_stores(line);
}
inline void fence_for_copies() {
  host->fence_for_copies();
}
template <class T, class B>
void store_to_block(Pointer<T> to, const std::type_identity_t<T>& value, Pointer<B> barrier, unsigned block, std::uint32_t line = __builtin_LINE()) {
  const Copy copy{to.buffer, 0, barrier.buffer, sizeof(T), to.offset, 0, barrier.offset};
  host->tell(&copy, &value, block, line);
}
inline void arrive_in_cluster(std::uint32_t line = __builtin_LINE()) {
  host->arrive_in_cluster(line);
}
inline void wait_for_cluster(std::uint32_t line = __builtin_LINE()) {
  host->wait_for_cluster(line);
}
inline void wait_for_previous_launch() {
  host->wait_for_previous_launch();
}
inline void launch_dependents() {}
// The bytes are read now, and written when the thread waits for them.
template <class T>
void cp_async(Pointer<T> to, Pointer<const T> from, std::uint32_t line = __builtin_LINE()) {
  T bytes;
  host->read(from.buffer, from.offset, sizeof(T), sizeof(T), line, &bytes, nullptr);
  host->cp_async(to.buffer, to.offset, sizeof(T), line, &bytes);
}
inline void cp_async_commit_group() {
  host->cp_async_commit_group();
}
inline void cp_async_wait_all() {
  host->cp_async_wait_group(0);
}
template <unsigned PENDING>
void cp_async_wait_group() {
  host->cp_async_wait_group(PENDING);
}
template <class Place>
Place opaque_place(Place place) {
  return place;
}
inline unsigned opaque_word(unsigned word) {
  return word;
}

// Tables are read by the operator, whose accesses to memory are compiled as they stand: it calls this before each.
template <std::size_t BYTES, std::size_t ALIGNMENT>
const void* intrinsic_item(const void* item) {
  host->item((std::uint64_t)item, BYTES);
  return item;
}
template <class Table>
void move_table(Table& table, Pointer<unsigned char> to) {
  table.items = (decltype(table.items))host->place(to.buffer, to.offset);
}

} // namespace intrinsics
} // namespace emulator

// Where an index lies beyond the end of an array, the compiler's `-fsanitize=bounds` calls this function. What it hands over is laid out
// as its runtime library has it; that library is not needed then.
struct OutOfBoundsData {
  const char* file;
  std::uint32_t line, column;
  const void *array_type, *index_type;
};
extern "C" inline __attribute__((used)) void __ubsan_handle_out_of_bounds(OutOfBoundsData* data, void* index) {
  ::emulator::host->outside_own_array((std::uint64_t)index, data->line);
}

// The same where a value is shifted by as many bits as it has, or more: `-fsanitize=shift-exponent`. What comes of it
// differs between a CPU and a GPU.
struct ShiftData {
  const char* file;
  std::uint32_t line, column;
  const void *value_type, *bits_type;
};
extern "C" inline __attribute__((used)) void __ubsan_handle_shift_out_of_bounds(ShiftData* data, void*, void* bits) {
  ::emulator::host->shifted_too_far((std::uint64_t)bits, data->line);
}
