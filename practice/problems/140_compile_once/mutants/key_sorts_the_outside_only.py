# verdict: wrong answer
# diagnosis: the outer names are sorted, those of nested dicts are not
def cache_key(settings, ignored=()):
    return _hash(json.dumps([[name, settings[name]] for name in sorted(settings) if name not in ignored]))
