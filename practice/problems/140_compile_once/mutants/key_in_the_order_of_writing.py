# verdict: wrong answer
# diagnosis: the same settings written down in another order get another key
def cache_key(settings, ignored=()):
    return _hash(json.dumps({name: settings[name] for name in settings if name not in ignored}))
