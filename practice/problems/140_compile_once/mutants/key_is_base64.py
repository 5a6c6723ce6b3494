# verdict: wrong answer
# diagnosis: base64 writes + / and =, which may not stand in the key; hexadecimal digits do, and base64.urlsafe_b64encode without its = does
import base64 as _base64

_right = cache_key


def cache_key(settings, ignored=()):
    return _base64.b64encode(_right(settings, ignored).encode()).decode()[:43] + "="
