# verdict: wrong answer
# diagnosis: settings that are off (False, None, 0, empty) were left out of the key
def cache_key(settings, ignored=()):
    counted = {name: settings[name] for name in settings if name not in ignored and settings[name]}
    return _hash(json.dumps(counted, sort_keys=True))
