# verdict: wrong answer
# diagnosis: lists are sorted too: two orders of a list get the same key
def _sorted(value):
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return sorted(map(_sorted, value), key=repr) if isinstance(value, (list, tuple)) else value


def cache_key(settings, ignored=()):
    return _hash(json.dumps(_sorted({name: settings[name] for name in settings if name not in ignored})))
