# verdict: wrong answer
# diagnosis: the key is so short that different settings get the same one by chance
_right = cache_key


def cache_key(settings, ignored=()):
    return "cache-" + _right(settings, ignored)[:4]
