# verdict: wrong answer
# diagnosis: the ignored settings were taken out of the caller's own dict; make a dict of those that count
def cache_key(settings, ignored=()):
    for name in ignored:
        settings.pop(name, None)
    return _hash(json.dumps(settings, sort_keys=True))
