# verdict: wrong answer
# diagnosis: numbers were rounded before they were counted; any other value is another setting
def _rounded(value):
    if isinstance(value, dict):
        return {name: _rounded(value[name]) for name in value}
    if isinstance(value, (list, tuple)):
        return [_rounded(part) for part in value]
    return round(value, 6) if type(value) is float else value


def cache_key(settings, ignored=()):
    return _hash(json.dumps(_rounded({n: settings[n] for n in settings if n not in ignored}), sort_keys=True))
