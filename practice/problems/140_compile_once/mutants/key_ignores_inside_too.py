# verdict: wrong answer
# diagnosis: a name in `ignored` was dropped inside nested settings too; only the outermost names are meant
def _without(value, ignored):
    if isinstance(value, dict):
        return {name: _without(value[name], ignored) for name in value if name not in ignored}
    return value


def cache_key(settings, ignored=()):
    return _hash(json.dumps(_without(settings, ignored), sort_keys=True))
