/* The tag of C++ exceptions, which clang expects somebody else to define. */
__asm__(".tagtype __cpp_exception i32\n"
        ".globl __cpp_exception\n"
        "__cpp_exception:\n");
