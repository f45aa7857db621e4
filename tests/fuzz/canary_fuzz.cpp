// A bug that is planted: scripts/fuzz.sh fails unless it is found, which shows that targets are guided by what they
// reach and that the sanitizers look.
#include "fuzz.hpp"

#include <memory>

void fuzzing::fuzz(std::string_view input) {
    // Never drawn by chance, found letter by letter: each is a step further into the function.
    if (input.size() < 4 || input[0] != 'b') return;
    if (input[1] != 'i') return;
    if (input[2] != 'r') return;
    if (input[3] != 'd') return;
    const std::unique_ptr<char[]> letters{new char[input.size()]{}};
    const volatile char next = letters[input.size()]; // the planted bug: it ends one letter earlier
    static_cast<void>(next);
}
