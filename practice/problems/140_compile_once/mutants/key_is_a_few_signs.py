# verdict: wrong answer
# diagnosis: the key has fewer than 8 characters: so few that different settings soon share one
_right = cache_key


def cache_key(settings, ignored=()):
    return _right(settings, ignored)[-5:]
