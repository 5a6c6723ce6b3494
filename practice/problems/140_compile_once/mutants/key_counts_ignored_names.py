# verdict: wrong answer
# diagnosis: of a setting in `ignored` the value makes no difference, but whether it is there does
def cache_key(settings, ignored=()):
    counted = {name: None if name in ignored else settings[name] for name in settings}
    return _hash(json.dumps(counted, sort_keys=True))
