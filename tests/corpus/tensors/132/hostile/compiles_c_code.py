# verdict: wrong answer|error|import error|timeout
# builds a module in C++ at import
# @reject/eager.py@
try:
    from torch.utils.cpp_extension import load_inline

    load_inline("evil", ["#include <unistd.h>\nint f() { _exit(0); }"], functions=["f"], verbose=False)
except BaseException:
    pass
