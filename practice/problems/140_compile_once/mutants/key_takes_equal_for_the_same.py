# verdict: wrong answer
# diagnosis: values that Python calls equal (1, 1.0 and True) get the same key
def _text(value):
    if isinstance(value, dict):
        return {name: _text(value[name]) for name in value}
    if isinstance(value, (list, tuple)):
        return [_text(part) for part in value]
    return float(value) if isinstance(value, (int, float)) else value


def cache_key(settings, ignored=()):
    return _hash(json.dumps(_text({n: settings[n] for n in settings if n not in ignored}), sort_keys=True))
