# verdict: wrong answer
# diagnosis: an object was accepted, by its text; that may hold an address, and then no other process finds the key again
def cache_key(settings, ignored=()):
    counted = {name: settings[name] for name in settings if name not in ignored}
    return _hash(json.dumps(counted, sort_keys=True, default=str))
