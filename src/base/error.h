// Errors: one hierarchy, whose messages name the thing, what was found, what was expected and, where it helps, what to
// do. The command line prints `minfer SUBCOMMAND: MESSAGE` and exits with 1, or with 2 for a UsageError.
#pragma once

#include <stdexcept>
#include <string>

namespace minfer {

class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// The words of a command line are off: an unknown flag, a missing argument, a value that does not parse.
class UsageError : public Error {
  public:
    using Error::Error;
};

// The operating system said no. The message ends with its reason for `error_number`, an errno value.
class IoError : public Error {
  public:
    IoError(const std::string& path, const std::string& action, int error_number);

    const std::string& path() const { return path_; }
    int error_number() const { return error_number_; }

  private:
    std::string path_;
    int error_number_;
};

// A file is not what its format says. `field` names the key, tensor or structure; `found` and `expected` are phrases:
// "model.gguf: tensor 'output.weight': found offset 17, expected a multiple of 32".
class FormatError : public Error {
  public:
    FormatError(std::string file, std::string field, std::string found, std::string expected);

    const std::string& file() const { return file_; }
    const std::string& field() const { return field_; }
    const std::string& found() const { return found_; }
    const std::string& expected() const { return expected_; }

  private:
    std::string file_, field_, found_, expected_;
};

// Something is well formed and minfer does not do it: an architecture, a type, an option of a backend.
class UnsupportedError : public Error {
  public:
    using Error::Error;
};

// Sizes or shapes that cannot go together: two tensors, a tensor and a hyperparameter, a request and a limit.
class ShapeError : public Error {
  public:
    using Error::Error;
};

}  // namespace minfer
