# verdict: wrong answer
# diagnosis: settings that are named in `ignored` still change the key: the code is compiled again for nothing
def cache_key(settings, ignored=()):
    return _hash(json.dumps(settings, sort_keys=True))
